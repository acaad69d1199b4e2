"""Metric facts, coverage, bounds and ranks: from means and counts to leaderboard rows."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from assets.analysis.statements import marked_metrics
from assets.leaderboard.common_questions import every_question
from assets.project import source_threshold, threshold_of
from evaluators.score_grid import settle_rounding
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.holm import holm

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator

METRIC_KEY = ("slice", "evaluator", "metric")
"""What the rows of one benchmark have in common within which its systems are ranked."""

RANK_KEY = ("benchmark", *METRIC_KEY)
"""Systems are ranked within rows that share these columns."""

SAME = 1e-12
"""Means that differ by less than this share of the largest (or of 1) are equal: it is rounding."""


def metric_facts(
    evaluators: Sequence[Evaluator], benchmark: Benchmark | None = None
) -> pl.DataFrame:
    """Return the facts of each metric of some evaluators.

    Args:
        evaluators: The evaluators, with their parameters.
        benchmark: The benchmark, whose thresholds apply; without one, those of the sources.

    Returns:
        One row per metric: evaluator, signature, metric, summary, best, bound_low and bound_high
        (null for an unbounded scale), best_value and worst_value (the same by direction),
        threshold, is_primary (1 or 0), position, level. Positions number the metrics from 1 in the
        order in which they are shown: the headline metric, the primary metrics in the order of the
        evaluators, all others.
    """
    rank_by = benchmark.rank_by if benchmark else None
    rows = [
        {
            "evaluator": evaluator.name,
            "signature": evaluator.signature,
            "metric": metric.name,
            "summary": metric.summary,
            "best": metric.best,
            "bound_low": _finite(metric.bounds[0]),
            "bound_high": _finite(metric.bounds[1]),
            "best_value": _finite(metric.bounds[metric.best == "high"]),
            "worst_value": _finite(metric.bounds[metric.best == "low"]),
            "threshold": (
                threshold_of(benchmark, evaluator, metric)
                if benchmark
                else source_threshold(metric)
            ),
            "is_primary": int(metric.primary),
            "level": metric.level,
        }
        for evaluator in evaluators
        for metric in (*evaluator.sample_metrics, *evaluator.system_metrics)
    ]
    rows.sort(key=lambda row: _order(row, rank_by))
    rows = [{**row, "position": position} for position, row in enumerate(rows, 1)]
    schema = {
        **dict.fromkeys(("evaluator", "signature", "metric", "summary", "best"), pl.String),
        **dict.fromkeys(("bound_low", "bound_high", "best_value", "worst_value"), pl.Float64),
        "threshold": pl.Float64,
        **dict.fromkeys(("is_primary", "position"), pl.Int32),
        "level": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def _order(row: Mapping[str, object], rank_by: str | None) -> tuple[bool, bool]:
    address = f"{row['evaluator']}.{row['metric']}"
    return address != rank_by, not row["is_primary"]


def mark_headline(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the column `is_headline`: 1 for the metric by which systems are ordered.

    That is the first metric by position. If it has no ranks (the judge is missing), it is the next
    primary one that has ranks over all questions.

    Args:
        rows: The leaderboard rows of benchmarks: benchmark, slice, rank, is_primary and position.
    """
    candidate = (pl.col("slice") == "all") & pl.col("rank").is_not_null()
    candidate &= (pl.col("position") == 1) | (pl.col("is_primary") == 1)
    first = pl.col("position").filter(candidate).min().over("benchmark").fill_null(1)
    return rows.with_columns(is_headline=(pl.col("position") == first).cast(pl.Int32))


def rank_systems(
    means: pl.DataFrame,
    facts: pl.DataFrame,
    add_common_means: Callable[[pl.DataFrame], pl.DataFrame] = every_question,
) -> pl.DataFrame:
    """Add coverage, bounds, pass/fail and rank to the means of all systems.

    Coverage is the share of scored samples among those to which the metric applies. Bounds are the
    mean if all lost scores (parse failures and judge errors) had the worst or the best value, also
    those of single answers of several to a question; they are null on an unbounded scale.

    The mean is null if all scores are the worst values of failed answers, or if failed answers
    are missing from it because the scale has no worst value. A system without a
    mean has no rank. Equal means share a rank, unless failed answers are missing from one of them
    (an empty text leaks nothing): then the fewer are missing, the better. The mean that counts for
    the rank is that over the questions that all of these systems were asked.

    Args:
        means: One row per benchmark, slice, system, evaluator and metric: mean, counts by status;
            where questions have several answers also the columns of `_with_parts`.
        facts: The result of `metric_facts` for each benchmark, with a column of its name; other
            metrics and signatures are left out.
        add_common_means: Adds n_not_asked, n_common and common_mean to rows with means.

    Returns:
        The rows of `means` with the columns of the table `leaderboard`, without uncertainty.
    """
    n_scored, mean = pl.col("n_scored"), pl.col("mean")
    settle = partial(settle_rounding, low=pl.col("bound_low"), high=pl.col("bound_high"))
    lost = pl.col("n_parse_failure") + pl.col("n_judge_error")
    applicable = pl.col("n") - pl.col("n_not_applicable")
    known = n_scored + lost
    high_is_best = pl.col("best") == "high"
    # The order of summation changes the last digits of a mean, not what follows from it.
    missing = (pl.col("threshold") - mean) * pl.when(high_is_best).then(1).otherwise(-1)
    passes = missing <= SAME * pl.max_horizontal(pl.col("threshold").abs(), 1.0)
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
    order = pl.struct("level_of_mean", pl.col("unanswered") / applicable)
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
        .pipe(add_common_means)
        .pipe(_add_levels)
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


def add_page_p(comparisons: pl.DataFrame, benchmarks: Sequence[Benchmark]) -> pl.DataFrame:
    """Add the column `p_page` to comparisons: null for exploratory ones.

    Args:
        comparisons: Rows of the table `comparisons`.
        benchmarks: Their benchmarks.
    """
    marked = pl.DataFrame(
        [
            (each.name, address, float(each.statements))
            for each in benchmarks
            for address in marked_metrics(each)
        ],
        schema={"benchmark": pl.String, "address": pl.String, "statements": pl.Float64},
        orient="row",
    )
    shared = comparisons.with_columns(
        address=pl.concat_str("evaluator", "metric", separator=".")
    ).join(marked, on=["benchmark", "address"], how="left", maintain_order="left")
    p = (pl.col("p_adjusted") * pl.col("statements")).clip(upper_bound=1.0)
    return shared.with_columns(p_page=pl.when(pl.col("slice") == "all").then(p)).drop(
        "address", "statements"
    )


def add_marks(rows: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Add the column `mark` to leaderboard rows.

    A system is `worse` if one of the others is significantly better, by `p_page`. A system is
    `best` if it is the first and all others are significantly worse. All other systems are
    `tied`. A system without a comparison has no mark.

    Args:
        rows: benchmark, slice, evaluator, metric, system and rank.
        comparisons: With `p_page`.
    """
    known = comparisons.filter(pl.col("p_page").is_not_null())
    is_significant = (pl.col("p_page") < LEVEL) & pl.col("verdict").is_in(["better", "worse"])
    wins = pl.col("verdict") == "better"
    sides = pl.concat(
        known.select(
            *RANK_KEY,
            system=system,
            has_won=is_significant & (wins if system == "system_a" else ~wins),
            has_lost=is_significant & (~wins if system == "system_a" else wins),
        )
        for system in ("system_a", "system_b")
    )
    counted = sides.group_by(*RANK_KEY, "system").agg(pl.col("has_won", "has_lost").sum())
    rivals = pl.col("rank").is_not_null().sum().over(RANK_KEY) - 1
    mark = (
        pl.when(pl.col("has_lost") > 0)
        .then(pl.lit("worse"))
        .when((rivals > 0) & (pl.col("has_won") == rivals) & (pl.col("rank") == 1))
        .then(pl.lit("best"))
        .when(pl.col("has_won").is_not_null())
        .then(pl.lit("tied"))
    )
    return (
        rows.join(counted, on=[*RANK_KEY, "system"], how="left", maintain_order="left")
        .with_columns(mark=pl.when(pl.col("rank").is_not_null()).then(mark))
        .drop("has_won", "has_lost")
    )


def adjust_threshold_p(rows: pl.DataFrame, benchmarks: Sequence[Benchmark]) -> pl.DataFrame:
    """Adjust the column `threshold_p` for all thresholds of a benchmark and all statements.

    Adds the column `n_statements`.

    Args:
        rows: Leaderboard rows with the p-value of each threshold alone.
        benchmarks: Their benchmarks.
    """
    statements = {each.name: each.statements for each in benchmarks}
    number = pl.col("benchmark").replace_strict(statements, return_dtype=pl.Int64)
    adjusted = (
        pl.col("threshold_p")
        .map_batches(
            lambda p: pl.Series(holm(p.cast(pl.Float64).to_numpy())), return_dtype=pl.Float64
        )
        .over("benchmark")
        .fill_nan(None)
    )
    shared = adjusted * number
    return rows.with_columns(threshold_p=shared.clip(upper_bound=1.0), n_statements=number)


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
