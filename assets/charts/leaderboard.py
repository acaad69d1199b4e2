"""The chart of a leaderboard: the mean of each system with its confidence interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assets.charts import style
from assets.charts.sort_order import shown_metrics, systems_best_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_METRICS = 8


def leaderboard_chart(
    overall: Sequence[Mapping[str, Any]], all_systems: Sequence[str]
) -> style.Spec | None:
    """Draw the means of the primary metrics with their intervals, one facet per metric.

    A facet shows the whole scale of its metric. Metrics of one evaluator without bounds share
    theirs. The page draws the same chart with the rows that its controls select.

    Args:
        overall: The rows of one benchmark over all questions in the table `leaderboard`, and the
            bounds of the metrics as scale_low and scale_high.
        all_systems: All systems, by name.

    Returns:
        The chart; None if no primary metric has a value.
    """
    systems, metrics, rows = interval_rows(overall)
    if not rows:
        return None
    _add_scales(rows)
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
        "color": style.system_colour(all_systems),
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
    facets = style.facet({"encoding": shared, "layer": layers}, rows, "metric", metrics)
    return style.to_spec({**facets, "resolve": {"scale": {"x": "independent"}}})


def _add_scales(rows: list[dict[str, Any]]) -> None:
    """Add the ends of the scale, the threshold, and the bounds that missing scores allow."""
    ends: dict[object, list[float]] = {}
    for row in rows:
        ends.setdefault(_shared_scale(row), [0.0]).extend((row["from"], row["to"], row["mean"]))
    for row in rows:
        shared = _shared_scale(row)
        del row["evaluator"]
        low, high = row["scale_low"], row["scale_high"]
        if shared is not None:
            row["scale_low"], row["scale_high"] = low, high = min(ends[shared]), max(ends[shared])
        threshold = row["threshold"]
        row["has_threshold"] = threshold is not None and low <= threshold <= high
        row["threshold"] = threshold if row["has_threshold"] else low
        for bound in ("bound_low", "bound_high"):
            row[bound] = row["mean"] if row[bound] is None else row[bound]


def _shared_scale(row: Mapping[str, Any]) -> str | None:
    """Return with which rows one without bounds shares its scale: those of its evaluator."""
    has_bounds = row["scale_low"] is not None and row["scale_high"] is not None
    return None if has_bounds else row["evaluator"]


def interval_rows(
    overall: Sequence[Mapping[str, Any]],
) -> tuple[list[str], list[str], list[dict[str, Any]]]:
    """Return what the chart shows: the systems, best first, the metrics, and a row for each mean.

    Args:
        overall: The rows of one benchmark over all questions in the table `leaderboard`.
    """
    systems = systems_best_first(overall)[: style.MAX_SYSTEMS]
    metrics = [".".join(name) for name in shown_metrics(overall)[:MAX_METRICS]]
    named = [(f"{row['evaluator']}.{row['metric']}", row) for row in overall]
    kept = ("evaluator", "scale_low", "scale_high", "bound_low", "bound_high", "threshold")
    rows = [
        {
            "system": row["system"],
            "metric": metric,
            "mean": row["mean"],
            "rank": row["rank"],
            "tied": "tied with the best" if row["mark"] == "tied" else "",
            **style.interval(row),
            **{name: row[name] for name in kept},
        }
        for metric, row in named
        if metric in metrics and row["system"] in systems and row["mean"] is not None
    ]
    return systems, metrics, rows
