"""Which system is marked as the best, at the level that all statements of the pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from assets.analysis.statements import marked_metrics
from assets.leaderboard.ranking import RANK_KEY
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.holm import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark


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
