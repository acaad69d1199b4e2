"""The judge outside of a run: it answers from the ledger, and its calls are counted."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from assets.engines import NO_JUDGE, UntrackedLedger
from assets.judging.call_judge import JudgingResult
from calls.budget import OVER_BUDGET
from calls.call import Origin
from evaluators.errors import EvaluatorError
from evaluators.flows.protocols import Engines
from evaluators.flows.scheduler import Scheduler
from evaluators.outcome import Unscored
from warehouse.ledger.open import open_ledger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.engines import JudgeFactory
    from assets.project import Project
    from evaluators.flows.protocols import Judge
    from evaluators.flows.requests import Flow
    from warehouse.store import Warehouse

T = TypeVar("T")

SYSTEM = "generate"
"""Stands for a system in the origins of calls, as in files of recorded replies."""


class JudgeSession:
    """A judge for one command; create it with `judge_session`.

    Attributes:
        identity: The judge's model and parameters.
        counts: The calls; complete after the session.
    """

    def __init__(self, judge: Judge) -> None:
        self.identity = judge.identity
        self.counts = JudgingResult()
        self._engines = Engines(judge=judge)

    def run(self, name: str, flows: Sequence[tuple[str, Flow[T]]]) -> list[T]:
        """Run flows that catch the reasons of their requests, concurrently.

        Args:
            name: What the flows are for; stands for an evaluator in the origins of calls.
            flows: The flows by names, which stand for questions.

        Returns:
            The results, in the order of the flows.

        Raises:
            EvaluatorError: The judge cannot be called; replies received before are kept.
        """
        results: dict[int, T] = {}
        started = ((Origin(SYSTEM, SYSTEM, each, name, 0), flow) for each, flow in flows)
        for position, result in Scheduler[T](self._engines).run(started):
            if isinstance(result, Unscored):
                raise result
            results[position] = result
        return [results[position] for position in range(len(flows))]


@contextmanager
def judge_session(project: Project, *, only_stored: bool = False) -> Iterator[JudgeSession]:
    """Open the judge of a project.

    Every reply is stored when it comes, so that a command that is repeated, or was killed, makes no
    call twice.

    Args:
        project: The project.
        only_stored: Whether to answer from the ledger alone; other calls are judge errors.

    Raises:
        EvaluatorError: The project has no judge model, or it cannot be called.
    """
    factory = require_judge(project)
    warehouse = project.open_warehouse()
    run_id = f"{SYSTEM}-{uuid4()}"
    with open_ledger(warehouse, run_id) as ledger:
        tracked = UntrackedLedger(ledger)
        if only_stored:
            yield JudgeSession(factory.replay(tracked))
            return
        try:
            with factory.live(tracked) as judge:
                session = JudgeSession(judge)
                yield session
        finally:
            ledger.flush()
        session.counts = _count(warehouse, run_id, len(tracked.digests))


def require_judge(project: Project) -> JudgeFactory:
    """Return what creates the judge.

    Raises:
        EvaluatorError: The project has no judge model.
    """
    engines = project.engines
    if engines.uses_human_labels:
        raise EvaluatorError("human labels cannot write questions: set judge.model to a model")
    if engines.judge_factory is None:
        raise EvaluatorError(NO_JUDGE)
    return engines.judge_factory


def _count(warehouse: Warehouse, run_id: str, needed: int) -> JudgingResult:
    counts: dict[str, Any] = warehouse.fetch(
        """
        SELECT
            count(*) FILTER (WHERE NOT over_budget) AS calls,
            $needed - count(*) AS cached,
            count(*) FILTER (WHERE over_budget) AS over_budget,
            count(*) FILTER (WHERE status = 'parse_failure') AS parse_failures,
            count(*) FILTER (WHERE status = 'judge_error' AND NOT over_budget) AS judge_errors,
            sum(tokens_in + tokens_out)::BIGINT AS tokens,
            sum(cost_usd) AS cost_usd
        FROM (
            SELECT *, status = 'judge_error' AND starts_with(error, $over_budget) AS over_budget
            FROM judgments WHERE run_id = $run_id
        )
        """,
        {"run_id": run_id, "over_budget": OVER_BUDGET, "needed": needed},
    ).row(0, named=True)
    return JudgingResult(**counts)
