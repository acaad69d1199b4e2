"""Test the order of systems and metrics."""

from __future__ import annotations

import polars as pl

from assets.charts.sort_order import leading_metric, shown_metrics, systems_best_first

Ranks = dict[tuple[str, str], dict[str, int | None]]


def board(ranks: Ranks, headline: int = 1) -> pl.DataFrame:
    """Return leaderboard rows; metrics get their positions in the order of `ranks`."""
    rows = [
        {
            "slice": "all",
            "evaluator": evaluator,
            "metric": metric,
            "system": system,
            "rank": rank,
            "mean": None if rank is None else 1 / rank,
            "is_primary": 1,
            "is_headline": int(position == headline),
            "position": position,
        }
        for position, ((evaluator, metric), of) in enumerate(ranks.items(), 1)
        for system, rank in of.items()
    ]
    return pl.DataFrame(rows, schema_overrides={"rank": pl.Int32, "mean": pl.Float64})


def test_systems_are_in_the_order_of_the_headline_metric() -> None:
    rows = board(
        {
            ("pii_leakage", "passes"): {"chatty": 3, "guarded": 1, "stuck": 1, "silent": None},
            ("looping", "unique"): {"chatty": 1, "guarded": 2, "stuck": 3, "silent": 1},
        }
    )
    assert systems_best_first(rows.to_dicts()) == ["guarded", "stuck", "chatty", "silent"]
    second = rows.with_columns(is_headline=(pl.col("position") == 2).cast(pl.Int32))
    assert systems_best_first(second.to_dicts()) == ["chatty", "silent", "guarded", "stuck"]


def test_without_ranks_by_the_headline_metric_the_next_metric_orders() -> None:
    rows = board(
        {
            ("judged", "m"): {"a": None, "b": None},
            ("counted", "m"): {"a": 2, "b": 1},
        }
    )
    assert leading_metric(rows.to_dicts()) == ("counted", "m")
    assert systems_best_first(rows.to_dicts()) == ["b", "a"]
    assert shown_metrics(rows) == [("counted", "m")]


def test_metrics_are_in_the_order_of_their_positions() -> None:
    rows = board({("z", "m"): {"a": 1}, ("b", "m"): {"a": 1}, ("c", "m"): {"a": None}})
    assert shown_metrics(rows.reverse()) == [("z", "m"), ("b", "m")]
    assert leading_metric([]) is None
    assert systems_best_first([]) == []
