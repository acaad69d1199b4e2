"""The check before a run: is the published copy up to date?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.checks.expectations import expectations_fingerprints, fetch_fingerprints
from assets.fingerprints.digests import (
    GATES,
    LEADERBOARD,
    PREDICTIONS,
    QUESTIONS,
    gates_fingerprint,
    leaderboard_fingerprint,
    matching_files,
    scores_fingerprint,
    scores_stage,
)
from assets.project import REPORT_FILE
from evaluators.kinds.composite import CompositeEvaluator
from warehouse.errors import WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.formats.paths import expand
from warehouse.ingest.digests import predictions_digest, questions_digest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assets.project import Benchmark, Project


def is_current(project: Project, benchmarks: Iterable[str]) -> bool:
    """Return whether the published copy reflects the current files and configuration.

    Reads the files to compute their digests and changes nothing. Returns False when the check
    itself fails, so that the run reports the error.
    """
    copy = project.open_copy()
    if not all(path.is_file() for path in (copy.path, project.publish / REPORT_FILE)):
        return False
    try:
        if not project.open_warehouse().exists():
            return False
        published = fetch_fingerprints(copy)
        for name in benchmarks:
            expected = _expected_fingerprints(project.benchmarks[name])
            expected |= expectations_fingerprints(project, name, expected)
            if not expected.items() <= published.get(name, {}).items():
                return False
    except WarehouseError:
        return False
    return True


def _expected_fingerprints(benchmark: Benchmark) -> dict[str, str]:
    """Return the fingerprints that a benchmark has once everything is up to date."""
    input_format, ratio = format_named(benchmark.format), benchmark.max_reject_ratio
    questions = matching_files(benchmark.questions)
    documents = matching_files(benchmark.documents)
    predictions = expand(benchmark.predictions)
    found = {QUESTIONS: questions_digest(input_format, questions, documents, ratio, predictions)}
    found[PREDICTIONS] = predictions_digest(input_format, predictions, ratio, found[QUESTIONS])
    # The fingerprint of a composite's scores contains those of its parts.
    for evaluator in sorted(benchmark.evaluators, key=lambda e: isinstance(e, CompositeEvaluator)):
        found[scores_stage(evaluator.name)] = scores_fingerprint(evaluator, found)
    found[LEADERBOARD] = leaderboard_fingerprint(benchmark, found)
    return found | {GATES: gates_fingerprint(benchmark, found)}
