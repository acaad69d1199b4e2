"""Folding: many scores become one number for each system, metric and slice."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator

PLACE = ("slice", "evaluator", "metric")
"""The columns within which systems are ranked against each other."""

DIGITS = 12
"""The digits to which means must agree to share a rank."""


def metric_facts(
    evaluators: Sequence[Evaluator], benchmark: Benchmark | None = None
) -> pl.DataFrame:
    """How to read each metric of some evaluators.

    Args:
        evaluators: The evaluators, with their parameters.
        benchmark: Whose thresholds override those of the metrics.

    Returns:
        One row a metric: evaluator, signature, metric, summary, best, bound_low and bound_high
        (null where the scale is open), threshold, is_primary (1 or 0), level.
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
        "evaluator": pl.String,
        "signature": pl.String,
        "metric": pl.String,
        "summary": pl.String,
        "best": pl.String,
        "bound_low": pl.Float64,
        "bound_high": pl.Float64,
        "threshold": pl.Float64,
        "is_primary": pl.Int32,
        "level": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def rank_systems(folded: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Say how systems stand: coverage, bounds, threshold and rank beside every mean.

    Bounds are what the mean would be if every sample whose score was lost (the judge could not be
    asked or understood) had the worst or the best value; they are null on an open scale. Coverage
    is the share of the samples to which the metric applies that have a score. Equal means share
    a rank; a system without a mean has none.

    Args:
        folded: One row a slice, system, evaluator, metric: mean and the counts by status.
        facts: What `metric_facts` returns; other metrics and signatures are left out.

    Returns:
        The rows of `folded` with the columns of the table `leaderboard`, but for the uncertainty.
    """
    n_scored, mean = pl.col("n_scored"), pl.col("mean")
    lost = pl.col("n_parse_failure") + pl.col("n_judge_error")
    applicable = pl.col("n") - pl.col("n_not_applicable")
    known = n_scored + lost
    high_is_best = pl.col("best") == "high"
    standing = mean * pl.when(high_is_best).then(-1).otherwise(1)
    reaches = (
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
        folded.join(facts, on=["evaluator", "metric", "signature"], maintain_order="left")
        .with_columns(
            pl.when(applicable > 0).then(n_scored / applicable).alias("coverage"),
            *bounds,
            # The same numbers summed in another order are still the same.
            standing.round_sig_figs(DIGITS).rank("min").over(PLACE).cast(pl.Int32).alias("rank"),
            reaches.cast(pl.Int32).alias("passes"),
        )
        .drop("summary", "level", "value_sum", strict=False)
    )


def reconcile_ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """Make ranks and the places that uncertainty allows tell the same story.

    Where the spread of a system's number is not known (a metric of a whole set that has no value
    once a part of the set is left out), the others' places cannot be known either: there
    `rank_low` and `rank_high` are null, and `tied_with_best` is null except for the best. Elsewhere
    the rank lies between the two.

    Args:
        rows: Rows of a leaderboard: slice, evaluator, metric, rank, rank_low, rank_high and
            tied_with_best.
    """
    rank, low, high = (pl.col(name) for name in ("rank", "rank_low", "rank_high"))
    known = (rank.is_null() | low.is_not_null()).all().over(PLACE) & rank.is_not_null()
    tied = pl.when(rank == 1).then(1).when(known).then("tied_with_best")
    return rows.with_columns(
        rank_low=pl.when(known).then(pl.min_horizontal(rank, low)),
        rank_high=pl.when(known).then(pl.max_horizontal(rank, high)),
        tied_with_best=tied.cast(rows.schema["tied_with_best"]),
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
