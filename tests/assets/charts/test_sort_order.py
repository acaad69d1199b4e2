"""Test the order of systems."""

from __future__ import annotations

import polars as pl

from assets.charts.sort_order import systems_best_first


def test_a_single_first_rank_does_not_lead_and_unranked_systems_come_last() -> None:
    ranks = {
        "steady": [1, 2, 2],
        "second": [2, 1, 3],
        "once": [None, None, 1],
        "silent": [None, None, None],
        "empty": [None, None, None],
    }
    board = pl.DataFrame(
        [
            {"slice": "all", "is_primary": 1, "system": system, "rank": rank}
            for system, given in ranks.items()
            for rank in given
        ]
    )
    other = board.with_columns(slice=pl.lit("language=de"), rank=pl.lit(1))
    minor = board.with_columns(is_primary=pl.lit(0), rank=pl.lit(9))
    order = systems_best_first(pl.concat([board, other, minor], how="vertical_relaxed"))
    assert order == ["steady", "second", "once", "empty", "silent"]
