"""The chart of a leaderboard: the mean of each system with its confidence interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from assets.charts.sort_order import overall_rows, primary_metrics, systems_best_first
from assets.charts.style import (
    FACET_WIDTH,
    FACETS_PER_ROW,
    MAX_SYSTEMS,
    WIDTH,
    facet_header,
    inline,
    interval_ends,
    system_colour,
)

if TYPE_CHECKING:
    import polars as pl

    from assets.charts.style import Spec

MAX_METRICS = 8


def leaderboard_chart(board: pl.DataFrame) -> Spec | None:
    """Draw the means of the primary metrics with their intervals, one facet per metric.

    Args:
        board: The rows of one benchmark in the table `leaderboard`.

    Returns:
        The chart; None if no primary metric has a value.
    """
    systems = systems_best_first(board)[:MAX_SYSTEMS]
    metrics = primary_metrics(board)[:MAX_METRICS]
    rows = [
        {
            "system": row["system"],
            "metric": f"{row['evaluator']}.{row['metric']}",
            "mean": row["mean"],
            "low": row["ci_low"],
            "high": row["ci_high"],
            **interval_ends(row["mean"], row["ci_low"], row["ci_high"]),
            "rank": row["rank"],
            "tied": "tied with the best" if row["tied_with_best"] else "",
        }
        for row in overall_rows(board).iter_rows(named=True)
        if (row["evaluator"], row["metric"]) in metrics
        and row["system"] in systems
        and row["mean"] is not None
    ]
    if not rows:
        return None
    base = alt.Chart().encode(
        y=alt.Y("system:N", sort=systems, title=None, axis=alt.Axis(labelLimit=180)),
        color=system_colour(sorted(board["system"].unique())),
        tooltip=[
            alt.Tooltip("system:N", title="System"),
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
    columns = 1 if len(metrics) == 1 else FACETS_PER_ROW
    chart: Spec = (
        alt.layer(interval, *caps, points, data=inline(rows))
        .properties(width=WIDTH if columns == 1 else FACET_WIDTH)
        .facet(
            facet=alt.Facet(
                "metric:N",
                sort=[f"{evaluator}.{metric}" for evaluator, metric in metrics],
                header=facet_header(),
            ),
            columns=columns,
        )
        .resolve_scale(x="independent")
        .to_dict(validate=False)
    )
    return chart
