"""Cost and time: what answers cost and how long they take, against their quality."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from assets.charts import style
from assets.publishing.report.formatting import format_count, format_number
from assets.publishing.report.panel import BenchmarkData, Content, Panel

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
    spent = expenses.select("system", spent=column).drop_nulls()
    table: list[dict[str, Any]] = []
    for name in data.shown_metrics:
        rows = data.metric_rows(*name).join(spent, on="system", maintain_order="left")
        is_high_best = rows["best"].first() == "high"
        front = pareto_front(rows.select("spent", "mean").rows(), high_is_best=is_high_best)
        table += rows.select(
            *("system", "mean", "spent"),
            metric=pl.lit(".".join(name)),
            on_front=pl.Series(front, dtype=pl.Boolean),
            **style.INTERVAL_COLUMNS,
        ).to_dicts()
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
    selected = alt.param(
        name="quality",
        value=metrics[0],
        bind=alt.binding_select(options=metrics, name="Quality by "),
    )
    base = (
        alt.Chart(alt.InlineData(values=rows))
        .transform_filter("datum.metric === quality")
        .encode(
            x=alt.X(
                "spent:Q",
                title=title,
                axis=alt.Axis(format="$~g" if is_cost else "~g", tickCount=4),
                scale=alt.Scale(padding=24, nice=False),
            ),
            y=alt.Y("mean:Q", title="Mean", scale=alt.Scale(zero=False, padding=12)),
            color=style.system_colour(data.systems),
        )
    )
    front = (
        base.transform_filter("datum.on_front")
        .encode(color=alt.value(style.NEUTRAL))
        .mark_line(interpolate="step-after", strokeDash=[5, 4], strokeWidth=1.5)
    )
    intervals = base.mark_rule(strokeWidth=1.5).encode(y="from:Q", y2="to:Q")
    points = base.encode(
        tooltip=[
            style.SYSTEM_TOOLTIP,
            alt.Tooltip("mean:Q", title="Mean", format=".4f"),
            alt.Tooltip("spent:Q", title=title, format="$.4~g" if is_cost else ".3~f"),
            alt.Tooltip("on_front:N", title="On the Pareto front"),
        ]
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
        .properties(width=style.WIDTH, height=300)
        .to_dict(validate=False)
    )


PANEL = Panel(title="Cost and time", position=100, build=build, queries={"expenses": EXPENSES})
