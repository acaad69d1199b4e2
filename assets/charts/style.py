"""Sizes, colours and encodings that all charts share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import altair as alt
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification. A test validates all charts against the schema; validating each one
when it is made would take a third of the time."""

MAX_SYSTEMS = 30
"""Systems in a chart: the best by the headline metric. Tables show all systems."""

WIDTH = 620
FACET_WIDTH = 230
FACETS_PER_ROW = 2
"""Facets in a row of an image; the page shows as many as fit."""

PALETTE = (
    *("#3a7fd5", "#e8590c", "#2f9e44", "#ae3ec9", "#e03131", "#1098ad", "#b8860b", "#868e96"),
    *("#d6336c", "#7950f2", "#66a80f", "#a0522d", "#0ca678", "#f06595", "#4c6ef5", "#8d7b2b"),
    *("#9775fa", "#5f9ea0", "#c2255c", "#f59f00"),
)
"""One colour per system, in the order of their names; legible on white and in dark mode."""

NEUTRAL = "#868e96"
"""The colour of lines that belong to no system."""


SYSTEM_TOOLTIP = alt.Tooltip("system:N", title="System")

INTERVAL_COLUMNS = {
    "low": pl.col("ci_low"),
    "high": pl.col("ci_high"),
    "from": pl.coalesce("ci_low", "mean"),
    "to": pl.coalesce("ci_high", "mean"),
}
"""The columns that draw an interval; both ends are the mean where there is no interval."""


def system_colour(systems: Sequence[str], **legend: Any) -> alt.Color:
    """Return the colour encoding of systems, the same in every chart.

    Args:
        systems: All systems of the benchmark, by name. Colours repeat if there are too many.
        legend: Options of a legend below the chart; without any, there is no legend.
    """
    colours = [PALETTE[at % len(PALETTE)] for at in range(len(systems))]
    return alt.Color(
        "system:N",
        scale=alt.Scale(domain=list(systems), range=colours),
        # Columns are wide enough for whole names.
        legend=alt.Legend(title=None, orient="bottom", columns=3, labelLimit=180, **legend)
        if legend
        else None,
    )


def facet(chart: Any, field: str, values: Sequence[str]) -> alt.FacetChart:
    """Return a chart with a facet for each value; a single facet has the full width.

    The header of a facet is its value, with the part after a dot on a second line.
    """
    header = alt.Header(
        title=None,
        labelFontWeight="bold",
        labelLimit=FACET_WIDTH + 30,
        labelExpr="split(datum.label, '.')",
    )
    is_single = len(values) == 1
    facets: alt.FacetChart = chart.properties(width=WIDTH if is_single else FACET_WIDTH).facet(
        facet=alt.Facet(f"{field}:N", sort=values, header=header),
        columns=1 if is_single else FACETS_PER_ROW,
    )
    return facets
