"""Cost and time: what answers cost and how long they take, against their quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from assets.charts.style import NEUTRAL, WIDTH, inline, interval_ends, system_colour
from assets.publishing.report.formatting import format_count, format_number
from assets.publishing.report.panel import Content, Panel

if TYPE_CHECKING:
    from assets.charts.style import Spec
    from assets.publishing.report.benchmark_data import BenchmarkData

EXPENSES = """
SELECT system, count(cost_usd) AS n_cost, avg(cost_usd) AS mean_cost,
    count(latency_s) AS n_latency, median(latency_s) AS median_latency,
    quantile_cont(latency_s, 0.95) AS latency_p95
FROM predictions
WHERE benchmark = $benchmark
GROUP BY system
HAVING n_cost > 0 OR n_latency > 0
ORDER BY system
"""

HEADS = (
    *("Mean cost, $", "Answers with a cost", "Median time, s", "95th percentile, s"),
    "Answers with a time",
)

TITLES = {"mean_cost": "US dollars per answer (mean)", "median_latency": "Seconds (median)"}


def build(data: BenchmarkData, expenses: pl.DataFrame) -> Content | None:
    """Return cost and time of each system, and the charts of quality against them."""
    if expenses.is_empty():
        return None
    rows = [
        (
            row["system"],
            [
                format_number(row["mean_cost"], 6),
                format_count(row["n_cost"]),
                format_number(row["median_latency"]),
                format_number(row["latency_p95"]),
                format_count(row["n_latency"]),
            ],
        )
        for row in expenses.iter_rows(named=True)
    ]
    charts = {column: quality_chart(data, expenses, column) for column in TITLES}
    return Content(values={"heads": HEADS, "rows": rows}, charts=charts)


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
    spent = dict(expenses.select("system", column).drop_nulls().iter_rows())
    table: list[dict[str, Any]] = []
    for evaluator, metric in data.primary_metrics:
        rows = data.overall.filter(
            pl.col("evaluator") == evaluator,
            pl.col("metric") == metric,
            pl.col("mean").is_not_null(),
            pl.col("system").is_in(list(spent)),
        ).to_dicts()
        points = [(spent[row["system"]], row["mean"]) for row in rows]
        front = pareto_front(points, high_is_best=bool(rows) and rows[0]["best"] == "high")
        table += [
            {
                "system": row["system"],
                "metric": f"{evaluator}.{metric}",
                "mean": row["mean"],
                "low": row["ci_low"],
                "high": row["ci_high"],
                **interval_ends(row["mean"], row["ci_low"], row["ci_high"]),
                "spent": spent[row["system"]],
                "on_front": is_on_front,
                "note": "on the Pareto front"
                if is_on_front
                else "another system is at least as good in both",
            }
            for row, is_on_front in zip(rows, front, strict=True)
        ]
    return table


def quality_chart(data: BenchmarkData, expenses: pl.DataFrame, column: str) -> Spec | None:
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
    selected = alt.param(
        name="quality",
        value=metrics[0],
        bind=alt.binding_select(options=metrics, name="Quality by "),
    )
    base = alt.Chart(inline(rows)).transform_filter("datum.metric === quality")
    x = alt.X(
        "spent:Q",
        title=title,
        axis=alt.Axis(format="$~g" if is_cost else "~g", tickCount=4),
        scale=alt.Scale(padding=24, nice=False),
    )
    y = alt.Y("mean:Q", title="Mean", scale=alt.Scale(zero=False, padding=12))
    colour = system_colour(data.systems)
    front = (
        base.transform_filter("datum.on_front")
        .mark_line(interpolate="step-after", strokeDash=[5, 4], strokeWidth=1.5, color=NEUTRAL)
        .encode(x=x, y=y)
    )
    intervals = base.mark_rule(strokeWidth=1.5).encode(
        x=x, y=alt.Y("from:Q"), y2="to:Q", color=colour
    )
    points = base.encode(
        x=x,
        y=y,
        color=colour,
        tooltip=[
            alt.Tooltip("system:N", title="System"),
            alt.Tooltip("mean:Q", title="Mean", format=".4f"),
            alt.Tooltip("spent:Q", title=title, format="$.4~g" if is_cost else ".3~f"),
            alt.Tooltip("note:N", title="Note"),
        ],
    )
    names = points.mark_text(align="left", dx=9, dy=-7, fontSize=12, limit=140)
    return (
        alt.layer(
            front,
            intervals,
            points.mark_point(filled=True, size=110, opacity=1),
            names.encode(text="system:N"),
        )
        .add_params(selected)
        .properties(width=WIDTH, height=300)
        .to_dict(validate=False)
    )


PANEL = Panel(
    name="spending",
    title="Cost and time",
    position=100,
    queries={"expenses": EXPENSES},
    build=build,
    template="cost_and_time.html.j2",
)
