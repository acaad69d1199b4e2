"""Make calls of judges and systems again that had no usable outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from assets.fingerprints.digests import (
    GATES,
    LEADERBOARD,
    UNSETTLED,
    answers_stage,
    scores_stage,
)
from warehouse.queries.answers import INCOMPLETE
from warehouse.queries.failed_calls import reopen_failed_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project
    from warehouse.queries.failed_calls import FailedCalls

_RETRY: Final = "retry"


@dataclass(frozen=True, slots=True)
class ReopenedCalls:
    """How many calls the next run makes again.

    Attributes:
        verdicts: Calls of judges.
        answers: Calls of systems.
    """

    verdicts: int = 0
    answers: int = 0


def reopen_calls(
    project: Project,
    benchmarks: Sequence[str],
    systems: Sequence[str],
    evaluators: Sequence[str],
    *,
    judge: bool,
    ask: bool,
) -> ReopenedCalls:
    """Let the next run make failed calls again, and score the samples that rest on them.

    A run that is killed before it has made them leaves the rest to the next one.

    Args:
        project: The project.
        benchmarks: The benchmarks.
        systems: The systems; empty for all.
        evaluators: The evaluators; empty for all.
        judge: Whether calls of judges are made again.
        ask: Whether calls of systems are made again.
    """
    selection = {
        "benchmarks": list(benchmarks),
        "systems": list(systems),
        "evaluators": list(evaluators),
        "judge": judge,
        "ask": ask,
    }
    failed = reopen_failed_calls(project.open_warehouse(), selection, _outdated)
    if failed is None:
        return ReopenedCalls()
    return ReopenedCalls(failed.verdicts["digest"].n_unique(), failed.answers["digest"].n_unique())


def _outdated(failed: FailedCalls) -> dict[tuple[str, str], str]:
    """Return the fingerprints of stages that rest on failed calls, by benchmark and stage.

    The same inputs give other scores after a retry, so that later stages must not compare them.
    """
    found: dict[tuple[str, str], str] = {}
    for benchmark, evaluator in failed.verdicts.select("benchmark", "evaluator").iter_rows():
        found[benchmark, scores_stage(evaluator)] = f"{UNSETTLED} {_RETRY}"
    for benchmark, system in failed.answers.select("benchmark", "system").iter_rows():
        found[benchmark, answers_stage(system)] = INCOMPLETE
    for benchmark in {benchmark for benchmark, _ in found}:
        found |= {(benchmark, LEADERBOARD): _RETRY, (benchmark, GATES): _RETRY}
    return found
