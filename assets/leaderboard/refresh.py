"""Refresh one benchmark's leaderboard when its scores have changed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from assets.fingerprints.digests import GATES, LEADERBOARD, leaderboard_fingerprint
from assets.leaderboard.aggregate import (
    METRIC_KEY,
    mark_headline,
    metric_facts,
    rank_systems,
    reconcile_ranks,
)
from assets.leaderboard.score_matrix import load_question_index, sorted_unique
from assets.leaderboard.slices import add_shrunken_means
from assets.leaderboard.uncertainty import PseudoValues, measure_uncertainty
from evaluators import scoring
from evaluators.outcome import Status, Unscored
from evaluators.score_grid import aggregation_rows
from evaluators.statistics.arrays import DRAWS, SEED
from evaluators.statistics.permutation_test import FLIPS, MOST_FLIPS
from warehouse.queries.leaderboard import aggregate_scores, scored_samples

if TYPE_CHECKING:
    from assets.leaderboard.score_matrix import Source
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

SYSTEM_MEANS_SCHEMA: dict[str, type[pl.DataType]] = {
    "chance": pl.Float64,
    "n": pl.Int64,
    **{f"n_{status.value}": pl.Int64 for status in Status},
}
"""The counts of a system metric, and its chance level."""

RANDOMNESS = {
    "bootstrap_draws": DRAWS,
    "sign_flips": FLIPS,
    "most_sign_flips": MOST_FLIPS,
    "random_seed": SEED,
}
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
    rows, systems, comparisons = compute_leaderboard(warehouse, benchmark)
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
        # The new rows have no verdicts of gates.
        transaction.delete("marks", {**where, "stage": GATES})

    warehouse.write(write)
    return rows.height


class Leaderboard(NamedTuple):
    """The rows of the tables `leaderboard`, `system_scores` and `comparisons`."""

    rows: pl.DataFrame
    system_scores: pl.DataFrame
    comparisons: pl.DataFrame


def compute_leaderboard(warehouse: Source, benchmark: Benchmark) -> Leaderboard:
    """Aggregate the scores of a benchmark.

    Returns:
        The rows without `published_at`.
    """
    most_metrics = max((len(each.sample_metrics) for each in benchmark.evaluators), default=0)
    query = aggregate_scores(benchmark.name, benchmark.slices, most_metrics)
    facts = metric_facts(benchmark.evaluators, benchmark)
    # The SQL aggregation and the matrix computations are independent of each other.
    with ThreadPoolExecutor(1) as executor:
        aggregation = executor.submit(warehouse.fetch, *query)
        pseudo = PseudoValues(load_question_index(warehouse, benchmark))
        systems, system_means = compute_system_scores(warehouse, benchmark, pseudo)
        per_system, comparisons = measure_uncertainty(warehouse, benchmark, pseudo)
    every = pl.concat([aggregation.result(), system_means], how="diagonal")
    rows = (
        rank_systems(every, facts)
        .join(per_system, on=[*METRIC_KEY, "system"], how="left")
        .pipe(reconcile_ranks)
        .pipe(add_shrunken_means)
        .pipe(mark_headline)
    )
    name = pl.lit(benchmark.name).alias("benchmark")
    return Leaderboard(rows.with_columns(name), systems, comparisons.with_columns(name))


def randomness_rows() -> pl.DataFrame:
    """Return `RANDOMNESS` as rows of the table `meta`."""
    return pl.DataFrame([{"name": name, "value": str(n)} for name, n in RANDOMNESS.items()])


def compute_system_scores(
    warehouse: Source, benchmark: Benchmark, pseudo: PseudoValues | None = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute the system-level metrics of each system and slice.

    Args:
        warehouse: The warehouse with the scores.
        benchmark: The benchmark.
        pseudo: Collects the pseudo-values of these metrics.

    Returns:
        The columns of the table `system_scores`, and the metrics as means with their counts.
    """
    rows = [
        row
        for evaluator in benchmark.evaluators
        if evaluator.system_metrics
        for row in _evaluator_system_scores(warehouse, benchmark, evaluator, pseudo)
    ]
    found = pl.DataFrame(rows, schema=SYSTEM_SCORES_SCHEMA | SYSTEM_MEANS_SCHEMA)
    means = found.select(
        *("slice", "system", "evaluator", "metric", "signature"),
        *SYSTEM_MEANS_SCHEMA,
        mean="value",
    )
    return found.select(SYSTEM_SCORES_SCHEMA.keys()), means


def _evaluator_system_scores(
    warehouse: Source, benchmark: Benchmark, evaluator: Evaluator, pseudo: PseudoValues | None
) -> list[dict[str, object]]:
    """Compute one evaluator's system metrics, as rows of the table `system_scores`."""
    query = scored_samples(benchmark.name, evaluator.name, evaluator.signature, benchmark.slices)
    # The last digits of a metric depend on the order of its samples.
    grades = warehouse.fetch(*query).sort("question")
    scored = scoring.unpack_evidence(evaluator, aggregation_rows(evaluator, grades))
    questions = {
        slice_: sorted_unique(group["question"].to_numpy())
        for (slice_,), group in scored.filter(evaluator.counted())
        .select("slice", "question")
        .partition_by("slice", as_dict=True)
        .items()
    }
    rows: list[dict[str, object]] = []
    for (slice_, system), samples in sorted(
        scored.partition_by("slice", "system", as_dict=True).items()
    ):
        result = scoring.aggregate_unpacked(evaluator, samples)
        if pseudo is not None:
            counted = samples.filter(evaluator.counted())
            every = questions.get(slice_, counted["question"].to_numpy())
            pseudo.add(evaluator, slice_, system, counted, result, every)
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
                    "chance": result.chance[name].level if name in result.chance else None,
                    **scoring.count_samples(evaluator, samples, score),
                }
            )
    return rows
