"""The chart of a leaderboard: the mean of each system with its confidence interval."""

from __future__ import annotations

import altair as alt
import polars as pl

from assets.charts import style
from assets.charts.sort_order import overall_rows, shown_metrics, systems_best_first

MAX_METRICS = 8


def leaderboard_chart(board: pl.DataFrame) -> style.Spec | None:
    """Draw the means of the primary metrics with their intervals, one facet per metric.

    Args:
        board: The rows of one benchmark in the table `leaderboard`.

    Returns:
        The chart; None if no primary metric has a value.
    """
    overall = overall_rows(board)
    systems = systems_best_first(overall)[: style.MAX_SYSTEMS]
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
    if rows.is_empty():
        return None
    base = alt.Chart().encode(
        y=alt.Y("system:N", sort=systems, title=None, axis=alt.Axis(labelLimit=180)),
        color=style.system_colour(sorted(board["system"].unique())),
        tooltip=[
            style.SYSTEM_TOOLTIP,
            alt.Tooltip("mean:Q", title="Mean", format=".4f"),
            alt.Tooltip("low:Q", title="95 % from", format=".4f"),
            alt.Tooltip("high:Q", title="to", format=".4f"),
            alt.Tooltip("rank:Q", title="Rank"),
            alt.Tooltip("tied:N", title="Note"),
        ],
    )
    interval = base.mark_rule(strokeWidth=2).encode(x="from:Q", x2="to:Q")
    caps = [base.mark_tick(thickness=2, size=9).encode(x=f"{end}:Q") for end in ("from", "to")]
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("mean:Q", title=None, scale=alt.Scale(zero=True, nice=True))
    )
    layers = alt.layer(interval, *caps, points, data=alt.InlineData(values=rows.to_dicts()))
    facets = style.facet(layers, "metric", metrics)
    chart: style.Spec = facets.resolve_scale(x="independent").to_dict(validate=False)
    return chart
