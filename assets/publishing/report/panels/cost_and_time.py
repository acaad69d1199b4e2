"""Cost and time: what answers cost and how long they take, against their quality."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from assets.charts import style
from assets.leaderboard.winner import join_names
from assets.publishing.report.formatting import (
    format_count,
    format_money,
    format_number,
    isolate,
)
from assets.publishing.report.panel import BenchmarkData, Content, Panel

EXPENSES = """
SELECT benchmark, system, count(cost_usd) AS n_cost, avg(cost_usd) AS mean_cost,
    count(latency_s) AS n_latency, median(latency_s) AS median_latency,
    quantile_cont(latency_s, 0.95) AS latency_p95
FROM predictions
WHERE benchmark IN ({benchmarks})
GROUP BY benchmark, system
HAVING n_cost > 0 OR n_latency > 0
ORDER BY system
"""

HEADS = (
    *("Mean cost", "Answers with a cost", "Median time, s", "95th percentile, s"),
    "Answers with a time",
)

INTERVAL_STEP = 0.012
"""The least distance of two systems, as a share of the greatest expense."""

TITLES = {"mean_cost": "US dollars per answer (mean)", "median_latency": "Seconds (median)"}


def build(data: BenchmarkData, expenses: pl.DataFrame) -> Content | None:
    """Return cost and time of each system, and the charts of quality against them."""
    if expenses.is_empty():
        return None
    order = {system: at for at, system in enumerate(data.ranked_systems)}
    rows = [
        (
            row["system"],
            [
                format_money(row["mean_cost"]),
                format_count(row["n_cost"]),
                format_number(row["median_latency"]),
                format_number(row["latency_p95"]),
                format_count(row["n_latency"]),
            ],
        )
        for row in sorted(
            expenses.iter_rows(named=True),
            key=lambda row: order.get(row["system"], len(order)),
        )
    ]
    charts = {column: quality_chart(data, expenses, column) for column in TITLES}
    missing = [
        f"No {what} is known of {join_names(names)}."
        for column, what in (("mean_cost", "cost"), ("median_latency", "time"))
        if (names := systems_without(data, expenses, column))
    ]
    values = {"heads": HEADS, "rows": rows, "missing": missing}
    return Content(values=values, charts=charts)


def systems_without(data: BenchmarkData, expenses: pl.DataFrame, column: str) -> list[str]:
    """Return the systems of which an expense is unknown, if it is known of others."""
    known = set(expenses.filter(pl.col(column).is_not_null())["system"])
    return [isolate(system) for system in data.ranked_systems if known and system not in known]


def pareto_front(points: list[tuple[float, float]], *, high_is_best: bool) -> list[bool]:
    """Return which points are on the Pareto front.

    A point is on the front if no other point is at least as good in both dimensions and better
    in one.

    Args:
        points: (expense, quality) of each system.
        high_is_best: Whether greater qualities are better.
    """
    signed = [(expense, quality if high_is_best else -quality) for expense, quality in points]
    return [
        not any(other != own and other[0] <= own[0] and other[1] >= own[1] for other in signed)
        for own in signed
    ]


def quality_rows(data: BenchmarkData, expenses: pl.DataFrame, column: str) -> list[dict[str, Any]]:
    """Return the expense of each system beside its mean in each primary metric."""
    known = expenses.select("system", column).drop_nulls().sort(column, "system").rows()
    # Systems with almost equal expenses stand side by side, so that all intervals are visible.
    values = [value for _, value in known]
    drawn = style.spread(values, INTERVAL_STEP * max(values, default=0.0), math.inf)
    spent = {system: (value, x) for (system, value), x in zip(known, drawn, strict=True)}
    table: list[dict[str, Any]] = []
    for name in data.shown_metrics:
        rows = [row for row in data.metric_rows(*name) if row["system"] in spent]
        points = [(spent[row["system"]][0], row["mean"]) for row in rows]
        front = pareto_front(points, high_is_best=bool(rows) and rows[0]["best"] == "high")
        table += [
            {
                "system": row["system"],
                "mean": row["mean"],
                "spent": spent[row["system"]][0],
                "x": spent[row["system"]][1],
                "metric": ".".join(name),
                "on_front": is_on_front,
                **style.interval(row),
            }
            for row, is_on_front in zip(rows, front, strict=True)
        ]
    return table


def quality_chart(data: BenchmarkData, expenses: pl.DataFrame, column: str) -> style.Spec | None:
    """Draw quality against an expense, with the Pareto front.

    Args:
        data: The benchmark.
        expenses: The result of `EXPENSES`.
        column: The expense: `mean_cost` (US dollars) or `median_latency` (seconds).
    """
    rows = quality_rows(data, expenses, column)
    if not rows:
        return None
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    title, is_cost = TITLES[column], column == "mean_cost"
    shared = {
        # From zero: a small difference looks small.
        "x": style.quantity(
            "x",
            title=title,
            axis={"format": "$.3~r" if is_cost else "~g", "tickCount": 4},
            scale={"padding": 24, "nice": False, "zero": True},
        ),
        "y": style.quantity("mean", title=metrics[0], scale={"zero": False, "padding": 12}),
    }
    colour = style.system_colour(data.systems)
    point = {
        "color": colour,
        "tooltip": [
            style.SYSTEM_TOOLTIP,
            style.quantity("mean", title="Mean", format=".4f"),
            style.quantity("spent", title=title, format="$.4~r" if is_cost else ".3~f"),
            style.nominal("on_front", title="On the Pareto front"),
        ],
    }
    front = {
        "transform": [{"filter": "datum.on_front"}],
        "mark": {
            "type": "line",
            "interpolate": "step-after",
            "strokeDash": [5, 4],
            "strokeWidth": 1.5,
        },
        "encoding": {**shared, "color": {"value": style.NEUTRAL}},
    }
    interval = {
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {
            "x": shared["x"],
            "y": style.quantity("from"),
            "y2": {"field": "to"},
            "color": colour,
        },
    }
    is_right = "scale('x', datum.x) > 0.7 * width"
    name = {
        "type": "text",
        "align": {"expr": f"{is_right} ? 'right' : 'left'"},
        "dx": {"expr": f"{is_right} ? -9 : 9"},
        "dy": -9,
        "fontSize": 12,
        "limit": 140,
    }
    return style.to_spec(
        {
            "data": {"values": rows},
            # The page replaces the metric by the one that the reader selects.
            "transform": [{"filter": {"field": "metric", "equal": metrics[0]}}],
            "layer": [
                front,
                interval,
                {
                    "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                    "encoding": {**shared, **point},
                },
                {"mark": name, "encoding": {**shared, **point, "text": style.nominal("system")}},
            ],
            "width": style.WIDTH,
            "height": 300,
        }
    )


PANEL = Panel(title="Cost and time", position=100, build=build, queries={"expenses": EXPENSES})
