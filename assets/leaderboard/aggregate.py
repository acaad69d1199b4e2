"""Metric facts, coverage, bounds and ranks: from means and counts to leaderboard rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator

METRIC_KEY = ("slice", "evaluator", "metric")
"""Systems are ranked within rows that share these columns."""

SIGNIFICANT_DIGITS = 12
"""Means that agree to this many digits share a rank."""


def metric_facts(
    evaluators: Sequence[Evaluator], benchmark: Benchmark | None = None
) -> pl.DataFrame:
    """Return the facts of each metric of some evaluators.

    Args:
        evaluators: The evaluators, with their parameters.
        benchmark: The benchmark, whose thresholds override those of the metrics.

    Returns:
        One row per metric: evaluator, signature, metric, summary, best, bound_low and bound_high
        (null for an unbounded scale), threshold, is_primary (1 or 0), level.
    """
    thresholds = benchmark.thresholds if benchmark else {}
    rows = [
        {
            "evaluator": evaluator.name,
            "signature": evaluator.signature,
            "metric": metric.name,
            "summary": metric.summary,
            "best": metric.best,
            "bound_low": _finite(metric.bounds[0]),
            "bound_high": _finite(metric.bounds[1]),
            "threshold": thresholds.get(
                f"{evaluator.name}.{metric.name}", _finite(metric.threshold)
            ),
            "is_primary": int(metric.primary),
            "level": metric.level,
        }
        for evaluator in evaluators
        for metric in evaluator.measured()
    ]
    schema = {
        **dict.fromkeys(("evaluator", "signature", "metric", "summary", "best"), pl.String),
        **dict.fromkeys(("bound_low", "bound_high", "threshold"), pl.Float64),
        "is_primary": pl.Int32,
        "level": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def rank_systems(means: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Add coverage, bounds, pass/fail and rank to the means of all systems.

    Coverage is the share of scored samples among those to which the metric applies. Bounds are the
    mean if all lost scores (parse failures and judge errors) had the worst or the best value; they
    are null on an unbounded scale. Equal means share a rank; a system without a mean has none.

    Args:
        means: One row per slice, system, evaluator and metric: mean and counts by status.
        facts: The result of `metric_facts`; other metrics and signatures are left out.

    Returns:
        The rows of `means` with the columns of the table `leaderboard`, without uncertainty.
    """
    n_scored, mean = pl.col("n_scored"), pl.col("mean")
    lost = pl.col("n_parse_failure") + pl.col("n_judge_error")
    applicable = pl.col("n") - pl.col("n_not_applicable")
    known = n_scored + lost
    high_is_best = pl.col("best") == "high"
    ascending = mean * pl.when(high_is_best).then(-1).otherwise(1)
    passes = (
        pl.when(high_is_best)
        .then(mean >= pl.col("threshold"))
        .otherwise(mean <= pl.col("threshold"))
    )
    is_mean = (pl.col("level") == "sample") | (lost == 0)
    bounds = [
        pl.when(is_mean & (known > 0))
        .then((mean.fill_null(0.0) * n_scored + lost * pl.col(name)) / known)
        .alias(name)
        for name in ("bound_low", "bound_high")
    ]
    return (
        means.join(facts, on=["evaluator", "metric", "signature"], maintain_order="left")
        .with_columns(
            pl.when(applicable > 0).then(n_scored / applicable).alias("coverage"),
            *bounds,
            # The order of summation changes the last digits of a mean, not its rank.
            ascending.round_sig_figs(SIGNIFICANT_DIGITS)
            .rank("min")
            .over(METRIC_KEY)
            .cast(pl.Int32)
            .alias("rank"),
            passes.cast(pl.Int32).alias("passes"),
        )
        .drop("summary", "level", "value_sum", strict=False)
    )


def reconcile_ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """Make rank intervals consistent with ranks.

    A rank always lies within its interval. If the uncertainty of one system is unknown (a system
    metric without a value once a part of the questions is left out), so are the rank intervals of
    all systems: `rank_low` and `rank_high` are null, and `tied_with_best` is null except for the
    best system.

    Args:
        rows: Leaderboard rows: slice, evaluator, metric, rank, rank_low, rank_high and
            tied_with_best.
    """
    rank, low, high = (pl.col(name) for name in ("rank", "rank_low", "rank_high"))
    known = (rank.is_null() | low.is_not_null()).all().over(METRIC_KEY) & rank.is_not_null()
    tied = pl.when(rank == 1).then(1).when(known).then("tied_with_best")
    return rows.with_columns(
        rank_low=pl.when(known).then(pl.min_horizontal(rank, low)),
        rank_high=pl.when(known).then(pl.max_horizontal(rank, high)),
        tied_with_best=tied.cast(rows.schema["tied_with_best"]),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
