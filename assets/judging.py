"""Judging: put to the judge what stale samples need and the ledger does not hold."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from assets import stages
from assets.batches import TEXT_ROWS
from assets.freshness import scores_digest
from assets.staleness import stale_samples
from evaluators.flow import JUDGE
from evaluators.kinds.flow import FlowEvaluator
from evaluators.scoring import score
from warehouse import ledger

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.answering import Answering
    from assets.project import Benchmark
    from evaluators.engines.contract import Engines
    from evaluators.evaluator import Evaluator
    from warehouse.ledger import Ledger
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What came of judging one evaluator's samples of one benchmark.

    Attributes:
        samples: The samples that were stale.
        asked: Questions that were put to the judge now; those that another evaluator shares and
            put before count there.
        held: Questions of this evaluator that the ledger had answers to.
        parse_failures: Questions asked now whose replies were of no use.
        judge_errors: Questions asked now that got no reply.
        tokens: Tokens sent and received now; None when not told.
        cost_usd: What that cost; None when no price is known.
    """

    samples: int = 0
    asked: int = 0
    held: int = 0
    parse_failures: int = 0
    judge_errors: int = 0
    tokens: int | None = None
    cost_usd: float | None = None


def is_judged(evaluator: Evaluator) -> bool:
    """Whether an evaluator asks a judge."""
    return isinstance(evaluator, FlowEvaluator) and JUDGE in evaluator.asked()


class Session:
    """The judging of one run: one ledger, and one judge, which is made when it is first needed."""

    def __init__(
        self,
        warehouse: Warehouse,
        answering: Answering,
        tables: Ledger,
        run_id: str,
        until_the_end: ExitStack,
    ) -> None:
        self._warehouse = warehouse
        self._answering = answering
        self._tables = tables
        self._run_id = run_id
        self._until_the_end = until_the_end
        self._engines: Engines | None = None

    def judge(
        self,
        benchmark: Benchmark,
        evaluator: FlowEvaluator,
        *,
        systems: Sequence[str] = (),
        force: bool = False,
    ) -> Judged:
        """Run the flows of stale samples, for the ledger's sake; what they return is dropped.

        Args:
            benchmark: The benchmark.
            evaluator: The evaluator, with its parameters.
            systems: The systems to judge; empty for all.
            force: Look at every sample; what the ledger holds is not asked again.

        Raises:
            EvaluatorError: The judge cannot be asked at all; what it said until then is kept.
        """
        if self._answering.maker is None:
            return Judged()
        marks = self._warehouse.marks(benchmark.name)
        done = marks.get(stages.scores(evaluator.name)) == scores_digest(evaluator, marks)
        if done and not force:
            return Judged()
        query = stale_samples(benchmark, evaluator, systems=systems, force=force)
        since = datetime.now(UTC).replace(tzinfo=None)
        with self._warehouse.spool(query.sql, query.parameters) as samples:
            if not samples.rows:
                return Judged()
            try:
                for batch in samples.batches(TEXT_ROWS):
                    score(evaluator, batch, self._asking())
            finally:
                self._tables.settle()
            return self._told(benchmark, evaluator, samples.rows, since)

    def _asking(self) -> Engines:
        if self._engines is None:
            asking = self._answering.asking(self._tables)
            self._engines = self._until_the_end.enter_context(asking)
        return self._engines

    def _told(
        self, benchmark: Benchmark, evaluator: FlowEvaluator, samples: int, since: datetime
    ) -> Judged:
        told = self._warehouse.fetch(
            """
            SELECT
                count(*) FILTER (WHERE now_asked) AS asked,
                count(*) FILTER (WHERE NOT now_asked) AS held,
                count(*) FILTER (WHERE now_asked AND status = 'parse_failure') AS parse_failures,
                count(*) FILTER (WHERE now_asked AND status = 'judge_error') AS judge_errors,
                sum(tokens_in + tokens_out) FILTER (WHERE now_asked)::BIGINT AS tokens,
                sum(cost_usd) FILTER (WHERE now_asked) AS cost_usd
            FROM (
                SELECT *, run_id = $run_id AND judged_at >= $since AS now_asked FROM judgments
            ) AS j
            SEMI JOIN (
                SELECT digest FROM asks WHERE benchmark = $benchmark AND evaluator = $evaluator
            ) AS a USING (digest)
            """,
            {
                "run_id": self._run_id,
                "since": since,
                "benchmark": benchmark.name,
                "evaluator": evaluator.name,
            },
        )
        return Judged(samples=samples, **told.row(0, named=True))


@contextmanager
def session(warehouse: Warehouse, answering: Answering, run_id: str) -> Iterator[Session]:
    """Judge within a `with`; what killed runs were told is taken over first."""
    with ledger.opened(warehouse, run_id) as tables, ExitStack() as until_the_end:
        yield Session(warehouse, answering, tables, run_id, until_the_end)
