"""The check before a run: is the published copy up to date?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.checks.expectations import expectations_fingerprints
from assets.fingerprints.digests import (
    GATES,
    LEADERBOARD,
    PREDICTIONS,
    QUESTIONS,
    answers_fingerprint,
    answers_stage,
    gates_fingerprint,
    leaderboard_fingerprint,
    scores_fingerprint,
    scores_stage,
)
from assets.fingerprints.input_files import benchmark_files
from assets.fingerprints.published import has_fingerprints, is_published
from assets.inputs.ingest import stored_answers
from assets.project import REPORT_FILE
from evaluators.kinds.composite import CompositeEvaluator
from warehouse.errors import WarehouseError
from warehouse.ingest.digests import predictions_digest, questions_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assets.project import Benchmark, Project


def is_current(project: Project, benchmarks: Iterable[str]) -> bool:
    """Return whether the published copy and report reflect the current files and configuration.

    Reads the files to compute their digests and changes nothing. Returns False when the check
    itself fails, so that the run reports the error.
    """
    copy, page = project.open_copy(), project.publish / REPORT_FILE
    if not all(path.is_file() for path in (copy.path, page)):
        return False
    try:
        if not project.open_warehouse().exists():
            return False
        stored = project.open_warehouse().all_fingerprints(list(benchmarks))
        expected = expected_fingerprints(project, stored)
        # A retry that was killed has changed the warehouse and published nothing.
        return has_fingerprints(stored, expected) and is_published(copy, page, expected)
    except (WarehouseError, OSError):
        return False


def expected_fingerprints(
    project: Project, stored: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the fingerprints of benchmarks once everything is up to date, by stage.

    Args:
        project: The project.
        stored: The fingerprints in the warehouse, by benchmark and stage.

    Raises:
        OSError: An input file cannot be read.
        WarehouseError: The input files cannot be read.
    """
    expected = {}
    for name, own in stored.items():
        of_stages = _stage_fingerprints(project, project.benchmarks[name], own)
        expected[name] = of_stages | expectations_fingerprints(project, name, of_stages)
    return expected


def _stage_fingerprints(
    project: Project, benchmark: Benchmark, stored: Mapping[str, str]
) -> dict[str, str]:
    """Return the fingerprints that a benchmark has once everything is up to date.

    Those of answers are known once they are `stored` in the warehouse.
    """
    warehouse = project.open_warehouse()
    answers = stored_answers(warehouse, benchmark.name, benchmark.systems, stored)
    files = benchmark_files(benchmark, answers)
    input_format, ratio = files.input_format, benchmark.max_reject_ratio
    found = {
        QUESTIONS: questions_digest(
            input_format,
            files.questions,
            files.documents,
            ratio,
            files.predictions,
            files.columns,
        )
    }
    found[PREDICTIONS] = predictions_digest(
        input_format,
        files.predictions,
        ratio,
        found[QUESTIONS],
        files.columns,
        files.missing,
        [(each.system, each.digest(warehouse)) for each in files.answers],
    )
    for system in benchmark.systems:
        asked = answers_fingerprint(project.systems[system], found[QUESTIONS], benchmark.repeats)
        known = stored.get(answers_stage(system), "")
        found[answers_stage(system)] = known if known.startswith(f"{asked} ") else asked
    # The fingerprint of a composite's scores contains those of its parts.
    for evaluator in sorted(benchmark.evaluators, key=lambda e: isinstance(e, CompositeEvaluator)):
        found[scores_stage(evaluator.name)] = scores_fingerprint(evaluator, found)
    found[LEADERBOARD] = leaderboard_fingerprint(benchmark, found)
    return found | {GATES: gates_fingerprint(benchmark, found)}
