"""Pareto fronts: the systems that no other beats in quality without costing more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assets.publishing.report.page_data import Facts


def front(points: list[tuple[float, float]], *, high_is_best: bool) -> list[bool]:
    """Which points no other point beats: none is at least as good in both and better in one.

    Args:
        points: (what is spent, quality) of each system.
        high_is_best: Whether greater qualities are better.

    Returns:
        One truth value a point, in their order.
    """
    signed = [(spent, quality if high_is_best else -quality) for spent, quality in points]
    return [
        not any(other != own and other[0] <= own[0] and other[1] >= own[1] for other in signed)
        for own in signed
    ]


def ends(mean: float, low: float | None, high: float | None) -> dict[str, float]:
    """Where a whisker is drawn: an interval that is not there is drawn as long as the point."""
    return {"from": mean if low is None else low, "to": mean if high is None else high}


def fronts(facts: Facts, measure: str) -> list[dict[str, Any]]:
    """Each system's spending beside its means in the primary metrics.

    Args:
        facts: About the benchmark.
        measure: A column of `facts.spending`.

    Returns:
        One row a system and metric that has both numbers: system, metric, mean, low, high, spent,
        on_front, and `place`, the same in words.
    """
    spent = {row["system"]: row[measure] for row in facts.spending.iter_rows(named=True)}
    found: list[dict[str, Any]] = []
    for evaluator, metric in facts.primaries:
        rows = [
            row
            for row in facts.whole.iter_rows(named=True)
            if (row["evaluator"], row["metric"]) == (evaluator, metric)
            and row["mean"] is not None
            and spent.get(row["system"]) is not None
        ]
        points = [(spent[row["system"]], row["mean"]) for row in rows]
        best = front(points, high_is_best=bool(rows) and rows[0]["best"] == "high")
        found += [
            {
                "system": row["system"],
                "metric": f"{evaluator}.{metric}",
                "mean": row["mean"],
                "low": row["ci_low"],
                "high": row["ci_high"],
                **ends(row["mean"], row["ci_low"], row["ci_high"]),
                "spent": spent[row["system"]],
                "on_front": on_front,
                "place": "on the front" if on_front else "beaten by another system in both",
            }
            for row, on_front in zip(rows, best, strict=True)
        ]
    return found
