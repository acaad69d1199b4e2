"""The check before a run: is the published copy up to date?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.checks.expectations import expectations_fingerprints, fetch_fingerprints
from assets.fingerprints.digests import (
    GATES,
    LEADERBOARD,
    PREDICTIONS,
    QUESTIONS,
    answers_fingerprint,
    answers_stage,
    digest_of,
    gates_fingerprint,
    leaderboard_fingerprint,
    scores_fingerprint,
    scores_stage,
)
from assets.fingerprints.input_files import benchmark_files
from assets.fingerprints.report_files import is_report_complete
from assets.project import REPORT_FILE
from evaluators.kinds.composite import CompositeEvaluator
from warehouse.errors import WarehouseError
from warehouse.ingest.digests import predictions_digest, questions_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assets.project import Benchmark, Project
    from warehouse.publish.snapshot import OpenSnapshot


def is_current(project: Project, benchmarks: Iterable[str]) -> bool:
    """Return whether the published copy and report reflect the current files and configuration.

    Reads the files to compute their digests and changes nothing. Returns False when the check
    itself fails, so that the run reports the error.
    """
    copy, page = project.open_copy(), project.publish / REPORT_FILE
    if not all(path.is_file() for path in (copy.path, page)):
        return False
    try:
        has_warehouse = project.open_warehouse().exists()
        if not has_warehouse or not is_report_complete(project.publish, REPORT_FILE):
            return False
        with copy.open() as snapshot:
            published = fetch_fingerprints(snapshot)
            digest = publication_digest(snapshot)
        # A run that died after it had published the copy left the report of the one before.
        if f'content="{digest}"' not in page.read_text(encoding="utf-8"):
            return False
        for name in benchmarks:
            # A damaged warehouse fails here, even if nothing of it is needed.
            stored = project.open_warehouse().fingerprints(name)
            expected = _expected_fingerprints(project, project.benchmarks[name], stored)
            expected |= expectations_fingerprints(project, name, expected)
            # A retry that was killed has changed the warehouse and published nothing.
            recorded = (published.get(name, {}), stored)
            if not all(expected.items() <= each.items() for each in recorded):
                return False
    except (WarehouseError, OSError):
        return False
    return True


def publication_digest(copy: OpenSnapshot) -> str:
    """Return the digest of what a published copy was made from, and of its last publication."""
    marks = copy.fetch("SELECT benchmark, stage, digest FROM marks ORDER BY ALL").rows()
    last = copy.fetch("SELECT max(published_at)::VARCHAR FROM publications").item()
    return digest_of(marks, last)


def _expected_fingerprints(
    project: Project, benchmark: Benchmark, stored: Mapping[str, str]
) -> dict[str, str]:
    """Return the fingerprints that a benchmark has once everything is up to date.

    Those of answers are known once they are `stored` in the warehouse.
    """
    files = benchmark_files(benchmark, project.warehouse)
    input_format, ratio = files.input_format, benchmark.max_reject_ratio
    found = {
        QUESTIONS: questions_digest(
            input_format,
            files.questions,
            files.documents,
            ratio,
            files.given_predictions,
            files.columns,
        )
    }
    found[PREDICTIONS] = predictions_digest(
        input_format, files.predictions, ratio, found[QUESTIONS], files.columns, files.missing
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
