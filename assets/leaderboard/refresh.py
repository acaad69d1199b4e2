"""Standings: one benchmark's leaderboard, folded from its scores when they have changed."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import polars as pl

from assets.fingerprints.digests import LEADERBOARD, leaderboard_fingerprint
from assets.leaderboard.aggregate import metric_facts, rank_systems, reconcile_ranks
from assets.leaderboard.score_matrix import load_question_index, sorted_unique
from assets.leaderboard.uncertainty import PLACE, PseudoValues, measure_uncertainty
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

HISTORY = (
    *("published_at", "benchmark", "slice", "system", "evaluator", "metric"),
    *("mean", "ci_low", "ci_high", "n_scored", "signature"),
)


RANDOMNESS = {"bootstrap_draws": DRAWS, "sign_flips": FLIPS, "random_seed": SEED}
"""What intervals, rank intervals and p-values depend on besides the scores."""


def refresh_leaderboard(warehouse: Warehouse, benchmark: Benchmark, *, force: bool = False) -> int:
    """Fold the scores of a benchmark into its leaderboard, unless nothing has changed.

    Scores of another signature than the configured one are left out: numbers that came about
    differently are not ranked against each other.

    Returns:
        The rows that were written; 0 when the leaderboard was up to date.
    """
    marks = warehouse.fingerprints(benchmark.name)
    digest = leaderboard_fingerprint(benchmark, marks)
    if marks.get(LEADERBOARD) == digest and not force:
        return 0
    places = max((len(each.sample_metrics) for each in benchmark.evaluators), default=0)
    query = aggregate_scores(benchmark.name, benchmark.slices, places)
    facts = metric_facts(benchmark.evaluators, benchmark)
    # What SQL adds up and what is computed from matrices know nothing of each other.
    with ThreadPoolExecutor(1) as beside:
        folding = beside.submit(warehouse.fetch, query.sql, query.parameters)
        spread = PseudoValues(load_question_index(warehouse, benchmark))
        systems = compute_system_scores(warehouse, benchmark, spread)
        trust = measure_uncertainty(warehouse, benchmark, spread)
    folded = folding.result()
    every = pl.concat([folded, with_primary_counts(systems, folded, facts)], how="diagonal")
    sure = trust.standings.cast(dict.fromkeys(("rank_low", "rank_high"), pl.Int32))
    rows = (
        rank_systems(every, facts)
        .join(sure, on=list(PLACE), how="left")
        .pipe(reconcile_ranks)
        .with_columns(pl.lit(benchmark.name).alias("benchmark"))
    )
    place = {"benchmark": benchmark.name}

    def keep(transaction: Transaction) -> None:
        moment = transaction.next_timestamp("leaderboard_history", "published_at", place)
        dated = rows.with_columns(pl.lit(moment).alias("published_at"))
        transaction.replace("leaderboard", dated, where=place)
        transaction.replace("system_scores", systems, where=place)
        compared = trust.comparisons.with_columns(pl.lit(benchmark.name).alias("benchmark"))
        transaction.replace("comparisons", compared, where=place)
        transaction.replace("meta", randomness_rows(), where={"name": list(RANDOMNESS)})
        transaction.append("leaderboard_history", dated.select(HISTORY))
        transaction.record_fingerprint(benchmark.name, LEADERBOARD, digest)

    warehouse.write(keep)
    return rows.height


def randomness_rows() -> pl.DataFrame:
    """How often and from which seed numbers are drawn, as rows of the table `meta`."""
    return pl.DataFrame([{"name": name, "value": str(n)} for name, n in RANDOMNESS.items()])


def compute_system_scores(
    warehouse: Warehouse, benchmark: Benchmark, spread: PseudoValues | None = None
) -> pl.DataFrame:
    """The metrics that exist only for a whole set, for each system and slice.

    Args:
        warehouse: Where the grades are.
        benchmark: The benchmark.
        spread: Gathers what tells how sure these metrics are.

    Returns:
        The columns of the table `system_scores`.
    """
    rows = [
        row
        for evaluator in benchmark.evaluators
        if evaluator.system_metrics
        for row in _of_evaluator(warehouse, benchmark, evaluator, spread)
    ]
    schema = dict.fromkeys(
        (
            "benchmark",
            "system",
            "slice",
            "evaluator",
            "metric",
            "status",
            "reason",
            "detail",
            "signature",
        ),
        pl.String,
    )
    return pl.DataFrame(rows, schema={**schema, "value": pl.Float64})


def with_primary_counts(
    systems: pl.DataFrame, folded: pl.DataFrame, facts: pl.DataFrame
) -> pl.DataFrame:
    """Give system metrics the form of folded ones: the value as the mean, the primary's counts."""
    primaries = facts.filter(pl.col("is_primary") == 1).select("evaluator", "metric")
    place = ["slice", "system", "evaluator", "signature"]
    counts = folded.join(primaries, on=["evaluator", "metric"], how="semi").drop("metric", "mean")
    values = systems.select(*place, "metric", mean="value")
    return values.join(counts, on=place)


def _of_evaluator(
    warehouse: Warehouse, benchmark: Benchmark, evaluator: Evaluator, spread: PseudoValues | None
) -> list[dict[str, object]]:
    names = [metric.name for metric in evaluator.sample_metrics]
    primary = next(i for i, metric in enumerate(evaluator.sample_metrics) if metric.primary)
    query = scored_samples(benchmark.name, evaluator.name, evaluator.signature, benchmark.slices)
    grades = warehouse.fetch(query.sql, query.parameters).with_columns(
        pl.col("values").list.to_struct(fields=names).struct.unnest(),
        pl.col("statuses").list.get(primary, null_on_oob=True).fill_null("scored").alias("status"),
    )
    rows: list[dict[str, object]] = []
    groups = grades.partition_by("slice", "system", as_dict=True)
    places = grades.select("slice", "question")
    asked = {
        slice_: sorted_unique(those["question"].to_numpy())
        for (slice_,), those in places.partition_by("slice", as_dict=True).items()
    }
    for (slice_, system), samples in sorted(groups.items()):
        result = scoring.aggregate(evaluator, samples.select(*names, "status", "detail"))
        if spread is not None:
            spread.add(evaluator, slice_, system, samples, result.scores, asked[slice_])
        detail = None if result.detail is None else json.dumps(result.detail, ensure_ascii=False)
        for name, value in result.scores.items():
            place: dict[str, object] = {
                "benchmark": benchmark.name,
                "system": system,
                "slice": slice_,
                "evaluator": evaluator.name,
                "metric": name,
                "detail": detail,
                "signature": evaluator.signature,
            }
            if isinstance(value, Unscored):
                outcome: dict[str, object] = {
                    "value": None,
                    "status": value.status.value,
                    "reason": value.reason,
                }
            else:
                outcome = {"value": value, "status": Status.SCORED.value, "reason": None}
            rows.append(place | outcome)
    return rows
