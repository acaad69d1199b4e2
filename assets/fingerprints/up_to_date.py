"""Whether the published copy shows what files and configuration say now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.checks.expectations import contract_marks
from assets.fingerprints.digests import files, leaderboard_digest, scores_digest
from assets.fingerprints.stages import LEADERBOARD, PREDICTIONS, QUESTIONS, REPORT, scores
from warehouse.errors import WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.formats.paths import expand
from warehouse.ingest.digests import predictions_digest, questions_digest
from warehouse.publish.snapshot import FILE_NAME, Snapshot
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assets.project import Benchmark, Project


def is_current(project: Project, benchmarks: Iterable[str]) -> bool:
    """Whether the published copy shows what files and configuration say now.

    The files are read for their digests, nothing else is done. False also where that cannot be
    said: then a run tells what is wrong.

    Args:
        project: The project.
        benchmarks: The benchmarks to look at.
    """
    copy = project.publish / FILE_NAME
    if not all(path.is_file() for path in (copy, project.publish / REPORT)):
        return False
    try:
        if not Warehouse(project.warehouse).exists():
            return False
        marked = Snapshot(copy).fetch("SELECT benchmark, stage, digest FROM marks")
        marks: dict[str, dict[str, str]] = {}
        for name, stage, digest in marked.iter_rows():
            marks.setdefault(name, {})[stage] = digest
        for name in benchmarks:
            expected = _expected(project.benchmarks[name])
            expected |= contract_marks(project, name, expected)
            if not expected.items() <= marks.get(name, {}).items():
                return False
    except WarehouseError:
        return False
    return True


def _expected(benchmark: Benchmark) -> dict[str, str]:
    """The marks that a benchmark bears when everything is done."""
    chosen, ratio = format_named(benchmark.format), benchmark.max_reject_ratio
    questions, documents = (files(each) for each in (benchmark.questions, benchmark.documents))
    given = expand(benchmark.predictions)
    marks = {QUESTIONS: questions_digest(chosen, questions, documents, ratio, given)}
    marks[PREDICTIONS] = predictions_digest(chosen, given, ratio, marks[QUESTIONS])
    for evaluator in benchmark.evaluators:
        marks[scores(evaluator.name)] = scores_digest(evaluator, marks)
    return marks | {LEADERBOARD: leaderboard_digest(benchmark, marks)}
