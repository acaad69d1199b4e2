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
"""Systems in a chart: the best by their mean rank. Tables show all systems."""

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


def system_colour(systems: Sequence[str], **options: Any) -> alt.Color:
    """Return the colour encoding of systems, the same in every chart.

    Args:
        systems: All systems of the benchmark, by name. Colours repeat if there are too many.
        options: More options of the encoding, such as `legend`.
    """
    colours = [PALETTE[at % len(PALETTE)] for at in range(len(systems))]
    return alt.Color(
        "system:N",
        scale=alt.Scale(domain=list(systems), range=colours),
        **{"legend": None, **options},
    )


def legend(**options: Any) -> alt.Legend:
    """Return a legend below the chart, with columns wide enough for whole names."""
    return alt.Legend(title=None, orient="bottom", columns=3, labelLimit=180, **options)


def facet_header() -> alt.Header:
    """Return the header of a facet: the evaluator, and the metric on a second line."""
    return alt.Header(
        title=None,
        labelFontWeight="bold",
        labelLimit=FACET_WIDTH + 30,
        labelExpr="split(datum.label, '.')",
    )
