"""The chart of a leaderboard: the mean of each system with its confidence interval."""

from __future__ import annotations

import polars as pl

from assets.charts import style
from assets.charts.sort_order import (
    ORDER_COLUMNS,
    overall_rows,
    shown_metrics,
    systems_best_first,
)

MAX_METRICS = 8


def leaderboard_chart(board: pl.DataFrame) -> style.Spec | None:
    """Draw the means of the primary metrics with their intervals, one facet per metric.

    Args:
        board: The rows of one benchmark in the table `leaderboard`.

    Returns:
        The chart; None if no primary metric has a value.
    """
    systems, metrics, rows = interval_rows(board)
    if rows.is_empty():
        return None
    tooltip = [
        style.SYSTEM_TOOLTIP,
        style.quantity("mean", title="Mean", format=".4f"),
        style.quantity("low", title="95 % from", format=".4f"),
        style.quantity("high", title="to", format=".4f"),
        style.quantity("rank", title="Rank"),
        style.nominal("tied", title="Note"),
    ]
    shared = {
        "y": style.nominal("system", sort=systems, title=None, axis={"labelLimit": 180}),
        "color": style.system_colour(sorted(board["system"].unique())),
        "tooltip": tooltip,
    }
    cap = {"type": "tick", "thickness": 2, "size": 9}
    layers = [
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"x": style.quantity("from"), "x2": {"field": "to"}},
        },
        *({"mark": cap, "encoding": {"x": style.quantity(end)}} for end in ("from", "to")),
        {
            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
            "encoding": {
                "x": style.quantity("mean", title=None, scale={"zero": True, "nice": True})
            },
        },
    ]
    facets = style.facet({"encoding": shared, "layer": layers}, rows.to_dicts(), "metric", metrics)
    return style.to_spec({**facets, "resolve": {"scale": {"x": "independent"}}})


def interval_rows(board: pl.DataFrame) -> tuple[list[str], list[str], pl.DataFrame]:
    """Return what the chart shows: the systems, best first, the metrics, and a row for each mean.

    Args:
        board: The rows of one benchmark in the table `leaderboard`.
    """
    overall = overall_rows(board)
    systems = systems_best_first(overall.select(ORDER_COLUMNS).to_dicts())[: style.MAX_SYSTEMS]
    metrics = [".".join(name) for name in shown_metrics(overall)[:MAX_METRICS]]
    rows = (
        overall.with_columns(metric=pl.format("{}.{}", "evaluator", "metric"))
        .filter(
            pl.col("metric").is_in(metrics),
            pl.col("system").is_in(systems),
            pl.col("mean").is_not_null(),
        )
        .select(
            *("system", "metric", "mean", "rank"),
            tied=pl.when(tied_with_best=1).then(pl.lit("tied with the best")).otherwise(pl.lit("")),
            **style.INTERVAL_COLUMNS,
        )
    )
    return systems, metrics, rows
