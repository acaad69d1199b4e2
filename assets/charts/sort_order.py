"""The order in which systems and metrics are shown."""

from __future__ import annotations

import polars as pl


def whole(board: pl.DataFrame) -> pl.DataFrame:
    """The rows of a leaderboard over all questions."""
    return board.filter(pl.col("slice") == "all")


def best_first(board: pl.DataFrame) -> list[str]:
    """The systems of a leaderboard by their mean rank in the primary metrics.

    Those that are ranked in most of them stand before those ranked in fewer (a single first place
    does not lead a leaderboard), and those without any rank last, by name.
    """
    ranks = (
        whole(board)
        .filter(pl.col("is_primary") == 1)
        .group_by("system")
        .agg(pl.col("rank").mean(), places=pl.col("rank").count())
        .sort("places", "rank", "system", descending=[True, False, False], nulls_last=True)
    )
    return ranks["system"].to_list()


def primaries(board: pl.DataFrame) -> list[tuple[str, str]]:
    """The primary metrics that some system has a number for, as (evaluator, metric)."""
    rows = whole(board).filter(pl.col("is_primary") == 1, pl.col("mean").is_not_null())
    return sorted(set(rows.select("evaluator", "metric").iter_rows()))
