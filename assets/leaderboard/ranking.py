"""Coverage, bounds and ranks of systems: from means and counts to leaderboard rows."""

from __future__ import annotations

from functools import partial

import polars as pl

from evaluators.score_grid import settle_rounding

RANK_KEY = ("benchmark", "slice", "evaluator", "metric")
"""Systems are ranked within rows that share these columns."""

SAME = 1e-12
"""Means that differ by less than this share of the largest (or of 1) are equal: it is rounding."""


def add_coverage(means: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Add coverage and bounds to the means of all systems, and remove means that mislead.

    Coverage is the share of scored samples among those to which the metric applies. Bounds are the
    mean if all lost scores (parse failures and judge errors) had the worst or the best value, also
    those of single answers of several to a question; they are null on an unbounded scale.

    The mean is null if all scores are the worst values of failed answers, or if failed answers
    are missing from it because the scale has no worst value.

    Args:
        means: One row per benchmark, slice, system, evaluator and metric: mean, counts by status;
            where questions have several answers also the columns of `_with_parts`.
        facts: The result of `metric_facts` for each benchmark, with a column of its name; other
            metrics and signatures are left out.

    Returns:
        The rows of `means` with those of `facts`, and `unanswered`, the number of failed answers
        that are missing from the mean.
    """
    n_scored, mean = pl.col("n_scored"), pl.col("mean")
    settle = partial(settle_rounding, low=pl.col("bound_low"), high=pl.col("bound_high"))
    lost = pl.col("n_parse_failure") + pl.col("n_judge_error")
    applicable = pl.col("n") - pl.col("n_not_applicable")
    known = n_scored + lost
    statuses = ("scored", "not_applicable", "undefined", "parse_failure", "judge_error")
    unanswered = pl.col("n") - pl.sum_horizontal(f"n_{status}" for status in statuses)
    answered = n_scored > pl.col("n_target_error") - unanswered
    excusable = (unanswered == 0) | pl.col("worst_value").is_not_null()
    is_mean = (
        pl.when(pl.col("level") == "sample")
        .then(excusable)
        .otherwise(mean.is_not_null() & (lost == 0))
    )
    bounds = [
        pl.when(is_mean & (known > 0) & pl.col(name).is_not_null())
        .then(
            pl.when((lost == 0) & (pl.col(partly) == 0))
            .then(mean)
            .otherwise(
                settle(
                    (mean.fill_null(0.0) * n_scored + pl.col(partly) + lost * pl.col(name)) / known
                )
            )
        )
        .alias(name)
        for name, partly in (("bound_low", "sum_below"), ("bound_high", "sum_above"))
    ]
    return (
        _with_parts(means)
        .join(facts, on=["benchmark", "evaluator", "metric", "signature"], maintain_order="left")
        .with_columns(settle(mean))
        .with_columns(
            pl.when(applicable > 0).then(n_scored / applicable).alias("coverage"),
            *bounds,
            unanswered=unanswered,
        )
        .with_columns(mean=pl.when(answered & excusable).then(mean))
    )


def rank_systems(rows: pl.DataFrame) -> pl.DataFrame:
    """Add rank and pass/fail to the rows of all systems.

    A system without a mean has no rank. Equal means share a rank, unless failed answers are missing
    from one of them (an empty text leaks nothing): then the fewer are missing, the better. The mean
    that counts for the rank is that over the questions that all of these systems were asked.

    Args:
        rows: The result of `add_coverage`, with the columns of `add_common_means`.

    Returns:
        The rows with the columns of the table `leaderboard`, without uncertainty.
    """
    high_is_best = pl.col("best") == "high"
    # The order of summation changes the last digits of a mean, not what follows from it.
    missing = (pl.col("threshold") - pl.col("mean")) * pl.when(high_is_best).then(1).otherwise(-1)
    passes = missing <= SAME * pl.max_horizontal(pl.col("threshold").abs(), 1.0)
    applicable = pl.col("n") - pl.col("n_not_applicable")
    order = pl.struct("level_of_mean", pl.col("unanswered") / applicable)
    return (
        _add_levels(rows)
        .with_columns(
            pl.when(pl.col("common_mean").is_not_null())
            .then(order.rank("min").over(*RANK_KEY, pl.col("common_mean").is_null()))
            .cast(pl.Int32)
            .alias("rank"),
            passes.cast(pl.Int32).alias("passes"),
            n_target_error=pl.col("n_target_error") + pl.col("n_partly_failed"),
        )
        .drop(
            *("summary", "level", "value_sum", "unanswered", "level_of_mean", *_PARTS), strict=False
        )
    )


_PARTS = {"n_partly_failed": pl.Int64, "sum_below": pl.Float64, "sum_above": pl.Float64}


def _with_parts(means: pl.DataFrame) -> pl.DataFrame:
    """Add the columns of `partly_lost_scores` where questions have one answer: zeros."""
    absent = {name: pl.lit(0) for name in _PARTS if name not in means.columns}
    return means.with_columns(**absent).with_columns(
        pl.col(name).fill_null(0).cast(kind) for name, kind in _PARTS.items()
    )


def _add_levels(rows: pl.DataFrame) -> pl.DataFrame:
    """Add `level_of_mean`, which numbers the distinct means from the best; equal means share it."""
    sign = pl.when(pl.col("best") == "high").then(-1.0).otherwise(1.0)
    size = pl.max_horizontal(pl.col("common_mean").abs().max().over(RANK_KEY), 1.0)
    is_next = pl.col("ordered").diff().over(RANK_KEY) > SAME * pl.col("size")
    return (
        rows.with_row_index("row")
        .with_columns(ordered=pl.col("common_mean") * sign, size=size)
        .sort(*RANK_KEY, "ordered", nulls_last=True)
        .with_columns(level_of_mean=is_next.fill_null(value=False).cum_sum().over(RANK_KEY))
        .sort("row")
        .drop("row", "ordered", "size")
    )


def reconcile_ranks(rows: pl.DataFrame) -> pl.DataFrame:
    """Make rank sets consistent with ranks, and derive the ties with the best system.

    A system that has a rank, but no rank set (a single question, or a system metric without a value
    once a part of the questions is left out), may have any rank, so that the others may be one rank
    lower. The rank by the mean always lies within the set: if systems answered different questions,
    it may contradict the comparison on the common ones. A system is tied with the best if it may be
    the first; that is unknown without a rank set, except for the first by the mean.

    Args:
        rows: Leaderboard rows: benchmark, slice, evaluator, metric, rank, rank_low and rank_high.

    Returns:
        The rows with `tied_with_best`: 1 or 0, or null.
    """
    rank, low, high = (pl.col(name) for name in ("rank", "rank_low", "rank_high"))
    known = rank.is_not_null() & low.is_not_null()
    others = (rank.is_not_null() & low.is_null()).sum().over(RANK_KEY).cast(pl.Int32)
    return rows.with_columns(
        rank_low=pl.when(known).then(pl.min_horizontal(rank, low)),
        rank_high=pl.when(known).then(pl.max_horizontal(rank, high + others)),
    ).with_columns(
        tied_with_best=pl.when(rank == 1).then(1).when(known).then(low == 1).cast(pl.Int64)
    )
