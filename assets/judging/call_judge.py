"""Call the judge for stale samples, as far as the ledger has no reply yet."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assets.fingerprints.digests import scores_fingerprint, scores_stage
from assets.scoring.batches import TEXT_ROWS
from assets.scoring.stale_samples import stale_samples
from calls.budget import OVER_BUDGET
from evaluators.evaluator import require_libraries
from evaluators.kinds.flow import FlowEvaluator
from evaluators.scoring import run_flows
from warehouse.ledger.open import open_ledger
from warehouse.queries.benchmarks import answers_per_question

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    import polars as pl

    from assets.engines import RunEngines
    from assets.project import Benchmark
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingResult:
    """The judge calls for one evaluator's samples of one benchmark.

    Attributes:
        calls: Calls made in this run. A call that several evaluators share counts for the first.
        over_budget: Calls that the budget did not allow.
        cached: Other calls of this evaluator whose replies are in the ledger.
        parse_failures: Calls made whose replies could not be parsed.
        judge_errors: Calls made that got no reply.
        tokens: Tokens sent and received; None when unknown.
        cost_usd: The cost of the calls; None when no price is known.
        reason: The most frequent reason why calls got no usable reply; None if all got one.
    """

    calls: int = 0
    over_budget: int = 0
    cached: int = 0
    parse_failures: int = 0
    judge_errors: int = 0
    tokens: int | None = None
    cost_usd: float | None = None
    reason: str | None = None


def call_judge(
    warehouse: Warehouse,
    engines: RunEngines,
    pairs: Sequence[tuple[Benchmark, FlowEvaluator]],
    *,
    run_id: str,
    systems: Sequence[str] = (),
    force: bool = False,
) -> list[JudgingResult]:
    """Run the flows of stale samples, so that the ledger holds all replies; drop their results.

    All pairs share one ledger and one judge, and their flows run concurrently.

    Args:
        warehouse: The warehouse with the samples and the ledger.
        engines: The engines; without a judge, or without the key of an optional one, nothing is
            called.
        pairs: The evaluators of each benchmark, with their parameters.
        run_id: The run, recorded with every judgment.
        systems: The systems to judge; empty for all.
        force: Check every sample; replies in the ledger are still reused.

    Returns:
        The result of each pair.

    Raises:
        EvaluatorError: The judge cannot be called at all; replies received before are kept.
        MissingPackage: The libraries of an evaluator are not installed.
    """
    if engines.judge_factory is None or engines.judge_factory.skip_reason() is not None:
        return [JudgingResult()] * len(pairs)
    require_libraries(evaluator for _, evaluator in pairs)
    stale: list[int] = []
    with open_ledger(warehouse, run_id) as ledger:
        try:
            # The judge closes before the ledger flushes its replies into the tables.
            with (
                closing(_stale_batches(warehouse, pairs, systems, force, stale)) as batches,
                engines.live(warehouse, run_id, ledger) as live_engines,
            ):
                run_flows(batches, live_engines)
        finally:
            ledger.flush()
    counted = _count_calls(warehouse, {index: pairs[index] for index in stale}, run_id)
    return [counted.get(index, JudgingResult()) for index in range(len(pairs))]


def _stale_batches(
    warehouse: Warehouse,
    pairs: Sequence[tuple[Benchmark, FlowEvaluator]],
    systems: Sequence[str],
    force: bool,  # noqa: FBT001
    stale: list[int],
) -> Generator[tuple[FlowEvaluator, pl.DataFrame]]:
    """Yield the stale samples of each pair; append the index of each pair that has any."""
    repeats = answers_per_question(warehouse, {benchmark.name for benchmark, _ in pairs})
    for index, (benchmark, evaluator) in enumerate(pairs):
        fingerprints = warehouse.fingerprints(benchmark.name)
        expected = scores_fingerprint(evaluator, fingerprints)
        if fingerprints.get(scores_stage(evaluator.name)) == expected and not force:
            continue
        query = stale_samples(
            [benchmark],
            evaluator,
            systems=systems,
            force=force,
            every_answer=benchmark.name in repeats,
        )
        with warehouse.fetch_to_disk(*query) as samples:
            if samples.rows:
                stale.append(index)
            for batch in samples.batches(TEXT_ROWS):
                yield evaluator, batch


def _count_calls(
    warehouse: Warehouse, pairs: Mapping[int, tuple[Benchmark, FlowEvaluator]], run_id: str
) -> Mapping[int, JudgingResult]:
    """Count the judge calls of some pairs, which are given and returned by their index."""
    if not pairs:
        return {}
    counts = warehouse.fetch(
        """
        WITH pairs AS (SELECT unnest($pairs, recursive := true)),
        used AS (
            SELECT index, j.*,
                j.run_id = $run_id AND index = min(index) OVER (PARTITION BY digest) AS now,
                status = 'judge_error' AND starts_with(error, $over_budget) AS over_budget
            FROM (SELECT DISTINCT benchmark, evaluator, digest FROM asks) AS a
            JOIN pairs AS p USING (benchmark, evaluator)
            JOIN judgments AS j USING (digest)
        )
        SELECT
            index,
            count(*) FILTER (WHERE now AND NOT over_budget) AS calls,
            count(*) FILTER (WHERE now AND over_budget) AS over_budget,
            count(*) FILTER (WHERE NOT now) AS cached,
            count(*) FILTER (WHERE now AND status = 'parse_failure') AS parse_failures,
            count(*) FILTER (WHERE now AND status = 'judge_error' AND NOT over_budget)
                AS judge_errors,
            sum(
                tokens_in - coalesce(replaced_tokens_in, 0)
                + tokens_out - coalesce(replaced_tokens_out, 0)
            ) FILTER (WHERE now)::BIGINT AS tokens,
            sum(cost_usd - coalesce(replaced_usd, 0)) FILTER (WHERE now) AS cost_usd,
            mode(error) FILTER (WHERE now AND status <> 'scored' AND NOT over_budget) AS reason
        FROM used
        GROUP BY index
        """,
        {
            "run_id": run_id,
            "over_budget": OVER_BUDGET,
            "pairs": [
                {"index": index, "benchmark": benchmark.name, "evaluator": evaluator.name}
                for index, (benchmark, evaluator) in pairs.items()
            ],
        },
    )
    return {row.pop("index"): JudgingResult(**row) for row in counts.iter_rows(named=True)}
