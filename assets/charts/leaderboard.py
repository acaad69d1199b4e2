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

    A facet shows the whole scale of its metric. Metrics of one evaluator without bounds share
    theirs. The page draws the same chart with the rows that its controls select.

    Args:
        board: The rows of one benchmark in the table `leaderboard`, and the bounds of the metrics
            as scale_low and scale_high.

    Returns:
        The chart; None if no primary metric has a value.
    """
    systems, metrics, rows = interval_rows(board)
    if rows.is_empty():
        return None
    rows = _with_scales(rows, overall_rows(board))
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
    bound = {"strokeWidth": 12, "opacity": 0.15, "strokeDash": [1, 0]}
    layers = [
        # Invisible: it makes the axis as long as the scale, and receives the pointer.
        {
            "mark": {"type": "rule", "opacity": 0, "strokeWidth": 16},
            "encoding": {"x": style.quantity("scale_low"), "x2": {"field": "scale_high"}},
        },
        {
            "mark": {"type": "rule", **bound},
            "encoding": {"x": style.quantity("bound_low"), "x2": {"field": "bound_high"}},
        },
        {
            "mark": {"type": "tick", "thickness": 1, "size": 18, "color": style.NEUTRAL},
            "encoding": {
                "x": style.quantity("threshold"),
                "color": {"value": style.NEUTRAL},
                "opacity": {"condition": {"test": "datum.has_threshold", "value": 1}, "value": 0},
            },
        },
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


def _with_scales(rows: pl.DataFrame, overall: pl.DataFrame) -> pl.DataFrame:
    """Add the ends of the scale, the threshold, and the bounds that missing scores allow."""
    known = overall.select(
        "system",
        *("evaluator", "scale_low", "scale_high", "bound_low", "bound_high"),
        metric=pl.format("{}.{}", "evaluator", "metric"),
        threshold=pl.col("threshold").cast(pl.Float64),
    )
    has_bounds = pl.col("scale_low").is_not_null() & pl.col("scale_high").is_not_null()
    ends = ("from", "to", "mean")
    low = pl.min_horizontal(0.0, *ends).min().over("evaluator", has_bounds)
    high = pl.max_horizontal(0.0, *ends).max().over("evaluator", has_bounds)
    return (
        rows.join(known, on=["system", "metric"], how="left", maintain_order="left")
        .with_columns(
            scale_low=pl.when(has_bounds).then("scale_low").otherwise(low),
            scale_high=pl.when(has_bounds).then("scale_high").otherwise(high),
        )
        .with_columns(
            has_threshold=pl.col("threshold")
            .is_between("scale_low", "scale_high")
            .fill_null(value=False),
            bound_low=pl.coalesce("bound_low", "mean"),
            bound_high=pl.coalesce("bound_high", "mean"),
        )
        .with_columns(threshold=pl.when("has_threshold").then("threshold").otherwise("scale_low"))
        .drop("evaluator")
    )


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
