"""Confidence curves: the share of questions above each value of phi and delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.charts import style
from assets.leaderboard.winner import join_names
from assets.publishing.report.formatting import format_percent, isolate
from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    import polars as pl

CURVES = """
SELECT c.benchmark, c.metric, c.system, c.threshold, c.share_above
FROM option_confidence_curves AS c
INNER JOIN (
    SELECT DISTINCT benchmark, signature FROM leaderboard
    WHERE benchmark IN ({benchmarks}) AND evaluator = 'option_confidence'
) USING (benchmark, signature)
WHERE c.benchmark IN ({benchmarks})
ORDER BY c.metric, c.system, c.threshold
"""

CHANCE = """
SELECT benchmark,
    CASE WHEN min(len(choices)) = max(len(choices)) THEN 1 / nullif(min(len(choices)), 0) END
FROM questions
WHERE benchmark IN ({benchmarks})
GROUP BY benchmark
"""

SYMBOLS = {"phi": "Φ", "delta": "Δ"}
RANGES = {"phi": (0.0, 1.0), "delta": (-1.0, 1.0)}
TITLES = {
    "phi": "Φ: probability of the right option",
    "delta": "Δ: right option minus the likeliest wrong one",
}

TENTHS = {
    "phi": [at / 10 for at in range(1, 10)],
    "delta": [at / 10 for at in range(-8, 9, 2)],
}
"""The values of the tables below the charts."""

MAX_STEPS = 400
"""Steps of a drawn curve; more could not be distinguished."""

MAX_ACCURACIES = 4
"""Systems whose accuracy the explanation names."""

Point = tuple[float, float]
"""A value, and the share of questions above it."""

Steps = dict[tuple[str, str], list[Point]]
"""The steps of each curve by (metric, system)."""


def build(data: BenchmarkData, curves: pl.DataFrame, chance: pl.DataFrame) -> Content | None:
    """Return the charts of phi and delta, and the numbers that explain how to read them."""
    if curves.is_empty():
        return None
    steps: Steps = curves.rows_by_key(["metric", "system"])
    guess: float | None = chance.item()  # None if questions differ in their number of options
    ranked = data.ranked_systems
    accuracies = [
        f"{isolate(system)} {format_percent(share_above(curve, 0.0))}"
        for system in ranked[:MAX_ACCURACIES]
        if (curve := steps.get(("delta", system)))
    ]
    return Content(
        values={
            "chance": None if guess is None else f"{guess:.3g}",
            "accuracies": join_names(accuracies) if accuracies else "",
            "tables": {
                metric: ([f"{x:g}" for x in TENTHS[metric]], share_rows(ranked, steps, metric))
                for metric in SYMBOLS
            },
        },
        charts={
            "phi": curve_chart(data, steps, "phi", reference=guess),
            "delta": curve_chart(data, steps, "delta", reference=0.0),
        },
    )


def drawn_points(curve: list[Point], metric: str, reference: float | None) -> list[Point]:
    """Return the points to draw: from one end of the scale to the other, thinned."""
    if not curve:
        return []
    low, high = RANGES[metric]
    start = [] if curve[0][0] <= low else [(low, 1.0)]
    end = [] if curve[-1][0] >= high else [(high, 0.0)]
    return thin_curve([*start, *curve, *end], (high - low) / MAX_STEPS, reference)


def thin_curve(curve: list[Point], width: float, exact_at: float | None) -> list[Point]:
    """Return the first point of a curve and the last one in each bin of its scale.

    Every point is exact, and so is the curve at the end of each bin. Within a bin, a step may be
    drawn late by less than the width of the bin.

    Args:
        curve: Values with the share of questions above each, ascending.
        width: The width of a bin.
        exact_at: A value at which the thinned curve is exact too.
    """
    kept = curve[:1]
    for point, following in zip(curve[1:], [*curve[2:], None], strict=False):
        if (
            following is None
            or following[0] // width != point[0] // width
            or (exact_at is not None and point[0] <= exact_at < following[0])
        ):
            kept.append(point)
    return kept


def curve_chart(
    data: BenchmarkData, steps: Steps, metric: str, reference: float | None
) -> style.Spec | None:
    """Draw one curve per system.

    Args:
        data: The benchmark.
        steps: The steps of all curves.
        metric: `phi` or `delta`.
        reference: A value to mark with a dashed line.
    """
    systems = data.systems
    rows = [
        {"system": system, "x": x, "share": share}
        for system in systems
        for x, share in drawn_points(steps.get((metric, system), []), metric, reference)
    ]
    if not rows:
        return None
    named = [system for system in data.ranked_systems if steps.get((metric, system))]
    curves: style.Spec = {
        "x": style.quantity("x", title=TITLES[metric], scale={"domain": list(RANGES[metric])}),
        "y": style.quantity(
            "share",
            title="Share of questions above",
            axis={"format": "%"},
            scale={"domain": [0, 1]},
        ),
        **style.system_lines(systems, values=named, **style.LINE_LEGEND),
    }
    # Vega-Lite reads names of a layer with `nearest` from the wrong object, so this is its own.
    tooltip = (
        f"{{'System': (datum.datum || datum).system, "
        f"'{SYMBOLS[metric]}': format((datum.datum || datum).x, '.4f'), "
        "'Questions above': format((datum.datum || datum).share, '.1%')}"
    )
    near = {"type": "point", "nearest": True, "on": "pointerover", "clear": "pointerout"}
    layers: list[style.Spec] = [
        {
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2, "clip": True},
            "encoding": {**curves, "opacity": _opacity({"param": "chosen"}, 0.08)},
            "params": [
                {
                    "name": "chosen",
                    "select": {"type": "point", "fields": ["system"]},
                    "bind": "legend",
                },
                # The wheel alone scrolls the page.
                {
                    "name": "zoom",
                    "select": {"type": "interval", "zoom": "wheel![event.ctrlKey]"},
                    "bind": "scales",
                },
            ],
        },
        {
            "transform": [{"filter": {"param": "chosen"}}],
            "mark": {"type": "point", "filled": True, "clip": True, "size": 70},
            "encoding": {
                **curves,
                "strokeDash": {"value": [1, 0]},
                "opacity": _opacity({"param": "near", "empty": False}, 0),
                "tooltip": {"value": {"expr": tooltip}},
            },
            "params": [{"name": "near", "select": near}],
        },
    ]
    if reference is not None:
        line = {
            "data": {"values": [{"x": reference}]},
            "mark": {"type": "rule", "strokeDash": [4, 4], "color": style.NEUTRAL},
            "encoding": {"x": style.quantity("x")},
        }
        layers.insert(0, line)
    labels = curve_labels(systems, steps, metric)
    if labels:
        side = f"datum.x > {RANGES[metric][0] + 0.7 * (RANGES[metric][1] - RANGES[metric][0])}"
        mark = {
            "type": "text",
            "fontSize": 12,
            "align": {"expr": f"{side} ? 'right' : 'left'"},
            "dx": {"expr": f"{side} ? -10 : 10"},
        }
        encoding = {
            "x": style.quantity("x"),
            "y": style.quantity("share"),
            "text": style.nominal("system"),
            "opacity": _opacity({"param": "chosen"}, 0),
        }
        layers.append({"data": {"values": labels}, "mark": mark, "encoding": encoding})
    return style.to_spec(
        {"data": {"values": rows}, "layer": layers, "width": style.WIDTH, "height": 340}
    )


def curve_labels(systems: list[str], steps: Steps, metric: str) -> list[style.Spec]:
    """Return where the name of each system stands beside its curve; none if there are too many.

    All curves end at the bottom, so each name has a height of its own: where its curve falls
    below that height.
    """
    drawn = [system for system in systems if steps.get((metric, system))]
    if len(drawn) > style.MAX_LABELS:
        return []
    labels = []
    for at, system in enumerate(drawn):
        height = 1 - (at + 1) / (len(drawn) + 1)
        x = next(x for x, share in steps[metric, system] if share <= height)
        labels.append({"system": system, "x": x, "share": height})
    return labels


def share_rows(systems: list[str], steps: Steps, metric: str) -> list[tuple[str, list[str]]]:
    """Return the share of questions above each of `TENTHS`, for each system with a curve."""
    return [
        (system, [format_percent(share_above(curve, at)) for at in TENTHS[metric]])
        for system in systems
        if (curve := steps.get((metric, system)))
    ]


def share_above(curve: list[Point], value: float) -> float:
    """Return the share of questions above a value."""
    return next((share for x, share in reversed(curve) if x <= value), 1.0)


def _opacity(condition: style.Spec, otherwise: float) -> style.Spec:
    return {"condition": {**condition, "value": 1}, "value": otherwise}


PANEL = Panel(
    title="Confidence curves",
    position=50,
    build=build,
    queries={"curves": CURVES, "chance": CHANCE},
)
