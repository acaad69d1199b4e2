"""The order in which systems and metrics are shown."""

from __future__ import annotations

import polars as pl


def overall_rows(board: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a leaderboard over all questions."""
    return board.filter(pl.col("slice") == "all")


def systems_best_first(board: pl.DataFrame) -> list[str]:
    """Return the systems of a leaderboard by their mean rank in the primary metrics.

    Systems with a rank in more metrics come first, so that a single first rank does not lead the
    leaderboard. Systems without a rank come last, by name.
    """
    ranks = (
        overall_rows(board)
        .filter(pl.col("is_primary") == 1)
        .group_by("system")
        .agg(pl.col("rank").mean(), n_ranks=pl.col("rank").count())
        .sort("n_ranks", "rank", "system", descending=[True, False, False], nulls_last=True)
    )
    return ranks["system"].to_list()


def primary_metrics(board: pl.DataFrame) -> list[tuple[str, str]]:
    """Return the primary metrics that have a value for some system, as (evaluator, metric)."""
    rows = overall_rows(board).filter(pl.col("is_primary") == 1, pl.col("mean").is_not_null())
    return sorted(set(rows.select("evaluator", "metric").iter_rows()))
