"""Judging: put to the judge what stale samples need and the ledger does not hold."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assets.fingerprints.digests import scores_fingerprint, scores_stage
from assets.scoring.batches import TEXT_ROWS
from assets.scoring.refresh import stale_samples
from evaluators.kinds.flow import FlowEvaluator
from evaluators.scoring import run_flows
from warehouse.ledger import ledger

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    import polars as pl

    from assets.engines import RunEngines
    from assets.project import Benchmark
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingResult:
    """What came of judging one evaluator's samples of one benchmark.

    Attributes:
        asked: Questions that were put to the judge in this run; those that several evaluators put
            count for the first of them.
        held: Other questions of this evaluator that the ledger has answers to.
        parse_failures: Questions asked whose replies were of no use.
        judge_errors: Questions asked that got no reply.
        tokens: Tokens sent and received; None when not told.
        cost_usd: What that cost; None when no price is known.
    """

    asked: int = 0
    held: int = 0
    parse_failures: int = 0
    judge_errors: int = 0
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """What is to be judged in one run: one ledger, one judge, and all flows side by side.

    Attributes:
        warehouse: The warehouse.
        answering: Who answers.
        run_id: The run.
        systems: The systems to judge; empty for all.
        force: Look at every sample; what the ledger holds is not asked again.
    """

    warehouse: Warehouse
    answering: RunEngines
    run_id: str
    systems: Sequence[str] = ()
    force: bool = False

    def judge(self, pairs: Sequence[tuple[Benchmark, FlowEvaluator]]) -> Sequence[JudgingResult]:
        """Run the flows of stale samples, for the ledger's sake; what they return is dropped.

        What killed runs were told is taken over first.

        Args:
            pairs: The evaluators, with their parameters, of each benchmark.

        Returns:
            What came of each pair.

        Raises:
            EvaluatorError: The judge cannot be asked at all; what it said until then is kept.
        """
        if self.answering.judge_factory is None:
            return [JudgingResult()] * len(pairs)
        looked: list[int] = []
        with ledger.open_ledger(self.warehouse, self.run_id) as tables:
            try:
                # The judge is gone before what it said moves to the tables.
                with (
                    closing(self._samples(pairs, looked)) as samples,
                    self.answering.live(tables) as engines,
                ):
                    run_flows(samples, engines)
            finally:
                tables.flush()
        found = self._told(pairs, looked)
        return [found.get(place, JudgingResult()) for place in range(len(pairs))]

    def _samples(
        self, pairs: Sequence[tuple[Benchmark, FlowEvaluator]], looked: list[int]
    ) -> Generator[tuple[FlowEvaluator, pl.DataFrame]]:
        """The stale samples of each pair; `looked` receives the places of those that have any."""
        for place, (benchmark, evaluator) in enumerate(pairs):
            marks = self.warehouse.fingerprints(benchmark.name)
            done = marks.get(scores_stage(evaluator.name)) == scores_fingerprint(evaluator, marks)
            if done and not self.force:
                continue
            query = stale_samples(benchmark, evaluator, systems=self.systems, force=self.force)
            with self.warehouse.fetch_to_disk(query.sql, query.parameters) as samples:
                if samples.rows:
                    looked.append(place)
                for batch in samples.batches(TEXT_ROWS):
                    yield evaluator, batch

    def _told(
        self, pairs: Sequence[tuple[Benchmark, FlowEvaluator]], looked: Sequence[int]
    ) -> Mapping[int, JudgingResult]:
        """What the ledger says of the pairs that had stale samples, by their places."""
        if not looked:
            return {}
        told = self.warehouse.fetch(
            """
            WITH pairs AS (SELECT unnest($pairs, recursive := true)),
            put AS (
                SELECT place, j.*, j.run_id = $run_id AS now,
                    place = min(place) OVER (PARTITION BY digest) AS first
                FROM (SELECT DISTINCT benchmark, evaluator, digest FROM asks) AS a
                JOIN pairs AS p USING (benchmark, evaluator)
                JOIN judgments AS j USING (digest)
            )
            SELECT
                place,
                count(*) FILTER (WHERE now AND first) AS asked,
                count(*) FILTER (WHERE NOT (now AND first)) AS held,
                count(*) FILTER (WHERE now AND first AND status = 'parse_failure')
                    AS parse_failures,
                count(*) FILTER (WHERE now AND first AND status = 'judge_error') AS judge_errors,
                sum(tokens_in + tokens_out) FILTER (WHERE now AND first)::BIGINT AS tokens,
                sum(cost_usd) FILTER (WHERE now AND first) AS cost_usd
            FROM put
            GROUP BY place
            """,
            {
                "run_id": self.run_id,
                "pairs": [
                    {
                        "place": place,
                        "benchmark": pairs[place][0].name,
                        "evaluator": pairs[place][1].name,
                    }
                    for place in looked
                ],
            },
        )
        return {row.pop("place"): JudgingResult(**row) for row in told.iter_rows(named=True)}
