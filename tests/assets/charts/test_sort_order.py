"""Test the order of systems and metrics."""

from __future__ import annotations

from typing import Any

from assets.charts.sort_order import leading_metric, shown_metrics, systems_best_first

Ranks = dict[tuple[str, str], dict[str, int | None]]


def board(ranks: Ranks, headline: int = 1) -> list[dict[str, Any]]:
    """Return leaderboard rows; metrics get their positions in the order of `ranks`."""
    return [
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


def test_systems_are_in_the_order_of_the_headline_metric() -> None:
    rows = board(
        {
            ("pii_leakage", "passes"): {"chatty": 3, "guarded": 1, "stuck": 1, "silent": None},
            ("looping", "unique"): {"chatty": 1, "guarded": 2, "stuck": 3, "silent": 1},
        }
    )
    assert systems_best_first(rows) == ["guarded", "stuck", "chatty", "silent"]
    second = [{**row, "is_headline": int(row["position"] == 2)} for row in rows]
    assert systems_best_first(second) == ["chatty", "silent", "guarded", "stuck"]


def test_without_ranks_by_the_headline_metric_the_next_metric_orders() -> None:
    rows = board(
        {
            ("judged", "m"): {"a": None, "b": None},
            ("counted", "m"): {"a": 2, "b": 1},
        }
    )
    assert leading_metric(rows) == ("counted", "m")
    assert systems_best_first(rows) == ["b", "a"]
    assert shown_metrics(rows) == [("counted", "m")]


def test_metrics_are_in_the_order_of_their_positions() -> None:
    rows = board({("z", "m"): {"a": 1}, ("b", "m"): {"a": 1}, ("c", "m"): {"a": None}})
    assert shown_metrics(rows[::-1]) == [("z", "m"), ("b", "m")]
    assert leading_metric([]) is None
    assert systems_best_first([]) == []
