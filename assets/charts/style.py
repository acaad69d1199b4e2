"""Sizes, colours and encodings that all charts share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from warehouse.foreign_text import show_hidden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Spec: TypeAlias = dict[str, Any]
"""A Vega-Lite specification, or a part of one. A test validates all charts against the schema."""

MAX_SYSTEMS = 30
"""Systems in a chart: the best by the headline metric. Tables show all systems."""

WIDTH = 620
FACET_WIDTH = 230
FACET_SPACING = 40
"""Pixels between facets, so that labels at the ends of their axes do not touch."""

FACETS_PER_ROW = 2
"""Facets in a row of an image; the page shows as many as fit."""

PALETTE = (
    *("#3a7fd5", "#e8590c", "#2f9e44", "#ae3ec9", "#e03131", "#1098ad", "#b8860b", "#868e96"),
    *("#d6336c", "#7950f2", "#66a80f", "#a0522d", "#0ca678", "#f06595", "#4c6ef5", "#8d7b2b"),
    *("#9775fa", "#5f9ea0", "#c2255c", "#f59f00"),
)
"""One colour per system, in the order of their names; legible on white and in dark mode."""

DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [14, 4], [5, 2, 2, 2, 2, 2], [3, 6], [16, 3, 4, 3])
"""The dashes of lines, so that colour is not the only difference between systems."""

LINE_LEGEND = {"symbolType": "stroke", "symbolSize": 500, "symbolStrokeWidth": 3}
"""Options of a legend of lines, long enough to show their dashes."""

MAX_LABELS = 8
"""Lines of a chart up to which each has its system's name beside it."""

LABEL_ROOM = 0.2
"""The share of a chart's width that names at the ends of lines need."""

LABEL_GAP = 0.06
"""The distance of two names at the ends of lines, as a share of the height."""

NEUTRAL = "#868e96"
"""The colour of lines that belong to no system."""

UNDRAWABLE = {
    **{code: 0x2400 + code for code in range(0x20)},
    0x7F: 0x2421,
    **dict.fromkeys((*range(0x80, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF), 0xFFFD),
}
"""Characters that charts replace, by code point: Unicode's picture of a control character, or the
replacement character. Vega-Lite cannot parse some of them, and no SVG may contain most of them."""


def to_spec(chart: Spec) -> Spec:
    """Return a chart with pictures in place of control characters."""
    spec: Spec = _replace_undrawable(chart)
    return spec


def _replace_undrawable(value: Any) -> Any:
    if isinstance(value, str):
        return show_hidden(value.translate(UNDRAWABLE))
    if isinstance(value, dict):
        return {name: _replace_undrawable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_replace_undrawable(each) for each in value]
    return value


def interval(row: Mapping[str, Any]) -> Spec:
    """Return the fields that draw the interval of a mean, whose ends are the mean without one."""
    low, high = row["ci_low"], row["ci_high"]
    start, end = (row["mean"] if each is None else each for each in (low, high))
    return {"low": low, "high": high, "from": start, "to": end}


def nominal(field: str, **more: Any) -> Spec:
    """Return the encoding of a field with names."""
    return {"field": field, "type": "nominal", **more}


def quantity(field: str, **more: Any) -> Spec:
    """Return the encoding of a field with numbers."""
    return {"field": field, "type": "quantitative", **more}


SYSTEM_TOOLTIP = nominal("system", title="System")


def system_colours(systems: Sequence[str]) -> dict[str, str]:
    """Return the colour of each system, given all systems of the benchmark by name."""
    return {system: PALETTE[at % len(PALETTE)] for at, system in enumerate(systems)}


def system_colour(systems: Sequence[str], **legend: Any) -> Spec:
    """Return the colour encoding of systems, the same in every chart.

    Args:
        systems: All systems of the benchmark, by name. Colours repeat if there are too many.
        legend: Options of a legend below the chart; without any, there is no legend.
    """
    colours = system_colours(systems)
    # Columns are wide enough for whole names.
    options = {"title": None, "orient": "bottom", "columns": 3, "labelLimit": 180, **legend}
    return nominal(
        "system",
        scale={"domain": list(colours), "range": list(colours.values())},
        legend=options if legend else None,
    )


def system_lines(systems: Sequence[str], **legend: Any) -> Spec:
    """Return the encodings of colour and dashes of lines, with one legend for both.

    Args:
        systems: All systems of the benchmark, by name.
        legend: Options of the legend; see `system_colour`.
    """
    colour = system_colour(systems, **legend)
    dashes = [DASHES[at % len(DASHES)] for at in range(len(systems))]
    scale = {"domain": colour["scale"]["domain"], "range": dashes}
    return {"color": colour, "strokeDash": {**colour, "scale": scale}}


def end_labels(ends: Mapping[str, float], x: Spec, y: str) -> list[Spec]:
    """Return the layer with the names of lines: at their right ends, one above the other.

    Args:
        ends: The height of each system's line at its end, from 0 to 1.
        x: The field of the horizontal axis and its value at the end.
        y: The field of the vertical axis.

    Returns:
        One layer; none if there are too many names to read.
    """
    if len(ends) > MAX_LABELS:
        return []
    names = sorted(ends, key=lambda system: ends[system])
    heights = spread([ends[system] for system in names], LABEL_GAP, 1.0)
    rows = [{"system": name, **x, y: at} for name, at in zip(names, heights, strict=True)]
    limit = {"expr": f"width * {LABEL_ROOM:g} - 8"}
    (field,) = x
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 12, "limit": limit},
            "encoding": {
                "x": quantity(field),
                "y": quantity(y),
                "text": nominal("system"),
            },
        }
    ]


def spread(values: Sequence[float], gap: float, highest: float) -> list[float]:
    """Return ascending values moved apart, so that neighbours differ by a gap and all fit."""
    moved: list[float] = []
    for value in values:
        moved.append(value if not moved else max(value, moved[-1] + gap))
    limit = highest
    for at in reversed(range(len(moved))):
        moved[at] = min(moved[at], limit)
        limit = moved[at] - gap
    return moved


def widened(low: float, high: float) -> list[float]:
    """Return the domain of a horizontal axis with room for names at the ends of lines."""
    return [low, low + (high - low) / (1 - LABEL_ROOM)]


def facet(chart: Spec, rows: Sequence[Spec], field: str, values: Sequence[str]) -> Spec:
    """Return a chart with a facet for each value; a single facet has the full width.

    The header of a facet is its value, with the part after a dot on a second line.

    Args:
        chart: The chart of one facet, without data.
        rows: The data of all facets.
        field: The field that decides to which facet a row belongs.
        values: Its values, in the order of the facets.
    """
    header = {
        "title": None,
        "labelFontWeight": "bold",
        "labelLimit": FACET_WIDTH + 30,
        "labelExpr": "split(datum.label, '.')",
    }
    is_single = len(values) == 1
    return {
        "data": {"values": rows},
        "facet": nominal(field, sort=values, header=header),
        "columns": 1 if is_single else FACETS_PER_ROW,
        "spacing": {"row": 16, "column": FACET_SPACING},
        "spec": {**chart, "width": WIDTH if is_single else FACET_WIDTH},
    }
