"""The chart of a leaderboard: a point for each mean and a whisker for its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import altair as alt

from assets.charts.colours import palette
from assets.charts.pareto import ends
from assets.charts.sort_order import best_first, primaries, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

Spec: TypeAlias = dict[str, Any]
"""A chart in Vega-Lite. A test holds charts against Vega-Lite's schema; whenever one is made, that
would take a third of the time."""

MOST_SYSTEMS = 30
"""Systems in a chart: the best by their mean rank; tables have all of them."""

MOST_METRICS = 8
"""Primary metrics side by side in the chart of the leaderboard."""

WIDTH = 620
PANEL = 230
"""The width of one panel of several."""

PANELS_BESIDE = 2
"""Panels in a row of a file; the page has as many as it has room for."""


def standings(board: pl.DataFrame) -> Spec | None:
    """Means of the primary metrics with their intervals, one panel a metric.

    Args:
        board: The rows of one benchmark of the table `leaderboard`.
    """
    order = best_first(board)[:MOST_SYSTEMS]
    metrics = primaries(board)[:MOST_METRICS]
    rows = [
        {
            "system": row["system"],
            "metric": f"{row['evaluator']}.{row['metric']}",
            "mean": row["mean"],
            "low": row["ci_low"],
            "high": row["ci_high"],
            **ends(row["mean"], row["ci_low"], row["ci_high"]),
            "rank": row["rank"],
            "tied": "tied with the best" if row["tied_with_best"] else "",
        }
        for row in whole(board).iter_rows(named=True)
        if (row["evaluator"], row["metric"]) in metrics
        and row["system"] in order
        and row["mean"] is not None
    ]
    if not rows:
        return None
    base = alt.Chart().encode(
        y=alt.Y("system:N", sort=order, title=None, axis=alt.Axis(labelLimit=180)),
        color=hue(sorted(board["system"].unique())),
    )
    told = [
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("mean:Q", title="Mean", format=".4f"),
        alt.Tooltip("low:Q", title="95 % from", format=".4f"),
        alt.Tooltip("high:Q", title="to", format=".4f"),
        alt.Tooltip("rank:Q", title="Rank"),
        alt.Tooltip("tied:N", title="Note"),
    ]
    whiskers = base.mark_rule(strokeWidth=2).encode(x="from:Q", x2="to:Q", tooltip=told)
    tips = [
        base.mark_tick(thickness=2, size=9).encode(x=alt.X(f"{end}:Q"), tooltip=told)
        for end in ("from", "to")
    ]
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("mean:Q", title=None, scale=alt.Scale(zero=True, nice=True)), tooltip=told
    )
    columns = 1 if len(metrics) == 1 else PANELS_BESIDE
    width = WIDTH if columns == 1 else PANEL
    panels = alt.layer(whiskers, *tips, points, data=alt.InlineData(values=rows)).properties(
        width=width
    )
    sorted_metrics = [f"{evaluator}.{metric}" for evaluator, metric in metrics]
    header = panel_header()
    drawn: Spec = (
        panels.facet(
            facet=alt.Facet("metric:N", sort=sorted_metrics, header=header), columns=columns
        )
        .resolve_scale(x="independent")
        .to_dict(validate=False)
    )
    return drawn


def hue(systems: Sequence[str], named: Sequence[str] = ()) -> alt.Color:
    """The colours of systems, the same in every chart.

    Args:
        systems: All systems of the benchmark, by name.
        named: Those that stand in a legend; there is none without any.
    """
    scale = alt.Scale(domain=list(systems), range=palette(len(systems)))
    if not named:
        return alt.Color("system:N", scale=scale, legend=None)
    return alt.Color("system:N", scale=scale, legend=legend(values=sorted(named)))


def legend(**more: Any) -> alt.Legend:
    """A legend below the chart, in columns that whole names fit into."""
    return alt.Legend(title=None, orient="bottom", columns=3, labelLimit=180, **more)


def panel_header() -> alt.Header:
    """What stands above a panel: the evaluator, and below it the metric."""
    return alt.Header(
        title=None,
        labelFontWeight="bold",
        labelLimit=PANEL + 30,
        labelExpr="split(datum.label, '.')",
    )
