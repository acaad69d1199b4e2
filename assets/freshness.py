"""Freshness: the digest of everything that a stage is made from, so that equal means done."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from assets.stages import LEADERBOARD, PREDICTIONS, QUESTIONS, REPORT, scores
from evaluators.kinds.composite import CompositeEvaluator
from warehouse.errors import WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.formats.paths import expand
from warehouse.ingest.digests import predictions_digest, questions_digest
from warehouse.publish.snapshot import FILE_NAME, Snapshot
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from assets.project import Benchmark, Project
    from evaluators.evaluator import Evaluator

_FOLD_VERSION = 2
"""Raised when leaderboards are folded in another way from the same scores."""


def digest_of(*parts: object) -> str:
    """One short text for any number of parts; equal only for equal parts in the same order."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def scores_digest(evaluator: Evaluator, marks: Mapping[str, str]) -> str:
    """What an evaluator's scores of one benchmark are made from.

    Args:
        evaluator: The evaluator, with its parameters.
        marks: The benchmark's marks, of which those of questions and predictions count, and for a
            composite those of its parts.
    """
    stages = [QUESTIONS, PREDICTIONS]
    if isinstance(evaluator, CompositeEvaluator):
        stages += sorted({scores(part.partition(".")[0]) for part in evaluator.parts})
    inputs = [marks.get(stage) for stage in stages]
    return digest_of(inputs, evaluator.signature)


def leaderboard_digest(benchmark: Benchmark, marks: Mapping[str, str]) -> str:
    """What a benchmark's leaderboard is made from: its scores and how they are to be read."""
    made = {
        evaluator.name: [evaluator.signature, marks.get(scores(evaluator.name))]
        for evaluator in benchmark.evaluators
    }
    reading = [
        *(benchmark.slices, benchmark.cluster, dict(benchmark.thresholds)),
        benchmark.intervals,
    ]
    return digest_of(_FOLD_VERSION, made, reading)


def is_current(project: Project, benchmarks: Iterable[str]) -> bool:
    """Whether the published copy shows what files and configuration say now.

    The files are read for their digests, nothing else is done. False also where that cannot be
    said: then a run tells what is wrong.

    Args:
        project: The project.
        benchmarks: The benchmarks to look at.
    """
    from assets.contracts import contract_marks

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


def files(pattern: Path | None) -> list[Path]:
    """The files that a pattern stands for; none for no pattern.

    Raises:
        InputError: A pattern that no file matches.
    """
    return [] if pattern is None else [path for path, _ in expand(pattern)]
