"""The order in which systems and metrics are shown: the same on every page, chart and table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

MetricName = tuple[str, str]
"""An evaluator and one of its metrics."""


def overall_rows(board: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a leaderboard over all questions."""
    return board.filter(pl.col("slice") == "all")


def shown_rows(board: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the primary metrics and of the headline metric."""
    return board.filter((pl.col("is_primary") == 1) | (pl.col("is_headline") == 1))


def leading_metric(rows: pl.DataFrame) -> MetricName | None:
    """Return the metric that orders the systems of some rows of a leaderboard.

    That is the headline metric. Where the rows do not contain it, or no system has a rank by it, it
    is the first metric by position that has ranks.

    Args:
        rows: Rows of one benchmark and slice: evaluator, metric, rank, is_headline and position.

    Returns:
        (evaluator, metric); None without rows.
    """
    is_missing = pl.col("rank").is_null()
    first = rows.sort(is_missing, pl.col("is_headline") != 1, "position", nulls_last=True).head(1)
    return next(first.select("evaluator", "metric").iter_rows(), None)


def systems_best_first(rows: pl.DataFrame) -> list[str]:
    """Return the systems by their rank in the leading metric; equal ones by name.

    Systems without a rank come last, by name.

    Args:
        rows: Rows of one benchmark and slice; see `leading_metric`.
    """
    leading = leading_metric(rows)
    is_leading = pl.concat_list("evaluator", "metric") == list(leading or ("", ""))
    ranks = rows.group_by("system").agg(rank=pl.col("rank").filter(is_leading).min())
    return ranks.sort("rank", "system", nulls_last=True)["system"].to_list()


def shown_metrics(rows: pl.DataFrame) -> list[MetricName]:
    """Return the headline metric and the primary ones that have a value, as (evaluator, metric).

    Args:
        rows: Rows of one benchmark; see `leading_metric`, and is_primary and mean.
    """
    measured = shown_rows(rows).filter(pl.col("mean").is_not_null()).sort("position")
    return list(dict.fromkeys(measured.select("evaluator", "metric").iter_rows()))


def evaluators_in_order(rows: pl.DataFrame) -> Sequence[str]:
    """Return the evaluators by the position of their first metric."""
    return list(dict.fromkeys(rows.sort("position")["evaluator"]))
