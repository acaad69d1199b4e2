"""Refresh one benchmark's leaderboard when its scores have changed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import polars as pl

from assets.fingerprints.digests import LEADERBOARD, leaderboard_fingerprint
from assets.leaderboard.aggregate import METRIC_KEY, metric_facts, rank_systems, reconcile_ranks
from assets.leaderboard.score_matrix import load_question_index, sorted_unique
from assets.leaderboard.uncertainty import PseudoValues, measure_uncertainty
from evaluators import scoring
from evaluators.outcome import Status, Unscored
from evaluators.statistics.bootstrap import DRAWS, SEED
from evaluators.statistics.permutation_test import FLIPS
from warehouse.queries.leaderboard import aggregate_scores, scored_samples

if TYPE_CHECKING:
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

HISTORY_COLUMNS = (
    *("published_at", "benchmark", "slice", "system", "evaluator", "metric"),
    *("mean", "ci_low", "ci_high", "n_scored", "signature"),
)

SYSTEM_SCORES_SCHEMA = {
    **dict.fromkeys(("benchmark", "system", "slice", "evaluator", "metric"), pl.String),
    **dict.fromkeys(("status", "reason", "detail", "signature"), pl.String),
    "value": pl.Float64,
}

RANDOMNESS = {"bootstrap_draws": DRAWS, "sign_flips": FLIPS, "random_seed": SEED}
"""The parameters of all random draws behind intervals and p-values."""


def refresh_leaderboard(warehouse: Warehouse, benchmark: Benchmark, *, force: bool = False) -> int:
    """Aggregate the scores of a benchmark into its leaderboard, unless it is up to date.

    Only scores with the configured signature count: scores of different configurations are not
    comparable.

    Returns:
        The number of rows written; 0 when the leaderboard was up to date.
    """
    fingerprints = warehouse.fingerprints(benchmark.name)
    fingerprint = leaderboard_fingerprint(benchmark, fingerprints)
    if fingerprints.get(LEADERBOARD) == fingerprint and not force:
        return 0
    most_metrics = max((len(each.sample_metrics) for each in benchmark.evaluators), default=0)
    query = aggregate_scores(benchmark.name, benchmark.slices, most_metrics)
    facts = metric_facts(benchmark.evaluators, benchmark)
    # The SQL aggregation and the matrix computations are independent of each other.
    with ThreadPoolExecutor(1) as executor:
        aggregation = executor.submit(warehouse.fetch, *query)
        pseudo = PseudoValues(load_question_index(warehouse, benchmark))
        systems = compute_system_scores(warehouse, benchmark, pseudo)
        per_system, comparisons = measure_uncertainty(warehouse, benchmark, pseudo)
    means = aggregation.result()
    every = pl.concat([means, with_primary_counts(systems, means, facts)], how="diagonal")
    rows = (
        rank_systems(every, facts)
        .join(
            per_system,
            on=[*METRIC_KEY, "system"],
            how="left",
        )
        .pipe(reconcile_ranks)
        .with_columns(benchmark=pl.lit(benchmark.name))
    )
    comparisons = comparisons.with_columns(benchmark=pl.lit(benchmark.name))
    where = {"benchmark": benchmark.name}

    def write(transaction: Transaction) -> None:
        now = transaction.next_timestamp("leaderboard_history", "published_at", where)
        dated = rows.with_columns(published_at=pl.lit(now))
        transaction.replace("leaderboard", dated, where=where)
        transaction.replace("system_scores", systems, where=where)
        transaction.replace("comparisons", comparisons, where=where)
        transaction.replace("meta", randomness_rows(), where={"name": list(RANDOMNESS)})
        transaction.append("leaderboard_history", dated.select(HISTORY_COLUMNS))
        transaction.record_fingerprint(benchmark.name, LEADERBOARD, fingerprint)

    warehouse.write(write)
    return rows.height


def randomness_rows() -> pl.DataFrame:
    """Return `RANDOMNESS` as rows of the table `meta`."""
    return pl.DataFrame([{"name": name, "value": str(n)} for name, n in RANDOMNESS.items()])


def compute_system_scores(
    warehouse: Warehouse, benchmark: Benchmark, pseudo: PseudoValues | None = None
) -> pl.DataFrame:
    """Compute the system-level metrics of each system and slice.

    Args:
        warehouse: The warehouse with the scores.
        benchmark: The benchmark.
        pseudo: Collects the pseudo-values of these metrics.

    Returns:
        The columns of the table `system_scores`.
    """
    rows = [
        row
        for evaluator in benchmark.evaluators
        if evaluator.system_metrics
        for row in _evaluator_system_scores(warehouse, benchmark, evaluator, pseudo)
    ]
    return pl.DataFrame(rows, schema=SYSTEM_SCORES_SCHEMA)


def with_primary_counts(
    systems: pl.DataFrame, means: pl.DataFrame, facts: pl.DataFrame
) -> pl.DataFrame:
    """Return system metrics as means, with the counts of their evaluator's primary metric."""
    primaries = facts.filter(pl.col("is_primary") == 1).select("evaluator", "metric")
    key = ["slice", "system", "evaluator", "signature"]
    counts = means.join(primaries, on=["evaluator", "metric"], how="semi").drop("metric", "mean")
    return systems.select(*key, "metric", mean="value").join(counts, on=key)


def _evaluator_system_scores(
    warehouse: Warehouse, benchmark: Benchmark, evaluator: Evaluator, pseudo: PseudoValues | None
) -> list[dict[str, object]]:
    """Compute one evaluator's system metrics, as rows of the table `system_scores`."""
    names = [metric.name for metric in evaluator.sample_metrics]
    primary = next(i for i, metric in enumerate(evaluator.sample_metrics) if metric.primary)
    query = scored_samples(benchmark.name, evaluator.name, evaluator.signature, benchmark.slices)
    scored = warehouse.fetch(*query).with_columns(
        pl.col("values").list.to_struct(fields=names).struct.unnest(),
        pl.col("statuses").list.get(primary, null_on_oob=True).fill_null("scored").alias("status"),
    )
    questions = {
        slice_: sorted_unique(group["question"].to_numpy())
        for (slice_,), group in scored.select("slice", "question")
        .partition_by("slice", as_dict=True)
        .items()
    }
    rows: list[dict[str, object]] = []
    for (slice_, system), samples in sorted(
        scored.partition_by("slice", "system", as_dict=True).items()
    ):
        result = scoring.aggregate(evaluator, samples.select(*names, "status", "detail"))
        if pseudo is not None:
            pseudo.add(evaluator, slice_, system, samples, result.scores, questions[slice_])
        detail = None if result.detail is None else json.dumps(result.detail, ensure_ascii=False)
        for name, score in result.scores.items():
            lost = score if isinstance(score, Unscored) else None
            rows.append(
                {
                    "benchmark": benchmark.name,
                    "system": system,
                    "slice": slice_,
                    "evaluator": evaluator.name,
                    "metric": name,
                    "status": Status.SCORED.value if lost is None else lost.status.value,
                    "reason": None if lost is None else lost.reason,
                    "detail": detail,
                    "signature": evaluator.signature,
                    "value": score if lost is None else None,
                }
            )
    return rows
