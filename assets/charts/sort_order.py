"""The order in which systems and metrics are shown: the same on every page, chart and table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Row = Mapping[str, Any]

MetricName = tuple[str, str]
"""An evaluator and one of its metrics."""

ORDER_COLUMNS = ("system", "evaluator", "metric", "rank", "is_headline", "position")
"""The columns of the leaderboard that decide the order of systems."""


def leading_metric(rows: Iterable[Row]) -> MetricName | None:
    """Return the metric that orders the systems of some rows of a leaderboard.

    That is the headline metric. Where the rows do not contain it, or no system has a rank by it, it
    is the first metric by position that has ranks.

    Args:
        rows: Rows of one benchmark and slice, with `ORDER_COLUMNS`.

    Returns:
        (evaluator, metric); None without rows.
    """

    def order(row: Row) -> tuple[bool, bool, float]:
        return row["rank"] is None, row["is_headline"] != 1, _position(row)

    first = min(rows, key=order, default=None)
    return None if first is None else (first["evaluator"], first["metric"])


def systems_best_first(rows: Sequence[Row]) -> list[str]:
    """Return the systems by their rank in the leading metric; equal ones by name.

    Systems without a rank come last, by name.

    Args:
        rows: Rows of one benchmark and slice, with `ORDER_COLUMNS`.
    """
    leading = leading_metric(rows)
    ranks = {row["system"]: math.inf for row in rows}
    ranks |= {
        row["system"]: row["rank"]
        for row in rows
        if (row["evaluator"], row["metric"]) == leading and row["rank"] is not None
    }
    return sorted(ranks, key=lambda system: (ranks[system], system))


def shown_metrics(rows: Iterable[Row]) -> list[MetricName]:
    """Return the headline metric and the primary ones that have a value, as (evaluator, metric).

    Args:
        rows: Rows of one benchmark; see `leading_metric`, and is_primary and mean.
    """
    shown = (row for row in rows if row["is_primary"] == 1 or row["is_headline"] == 1)
    measured = sorted((row for row in shown if row["mean"] is not None), key=_position)
    return list(dict.fromkeys((row["evaluator"], row["metric"]) for row in measured))


def evaluators_in_order(rows: Iterable[Row]) -> list[str]:
    """Return the evaluators by the position of their first metric."""
    return list(dict.fromkeys(row["evaluator"] for row in sorted(rows, key=_position)))


def _position(row: Row) -> float:
    position: float | None = row["position"]
    return math.inf if position is None else position
