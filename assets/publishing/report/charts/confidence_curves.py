"""The curves of how sure systems are of the right option: the share of questions above a value."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from assets.charts.colours import BOUNDARY, palette
from assets.charts.leaderboard import WIDTH, legend

if TYPE_CHECKING:
    from assets.charts.leaderboard import Spec
    from assets.publishing.report.page_data import Facts

RANGES = {"phi": (0.0, 1.0), "delta": (-1.0, 1.0)}

TITLES = {
    "phi": "Φ: probability of the right option",
    "delta": "Δ: right option less the likeliest wrong one",
}

MOST_STEPS = 400
"""Stretches of a curve's scale: steps that are closer together could not be told apart."""


def curve(facts: Facts, metric: str) -> Spec | None:
    """One line a system: the share of its questions above each value of a metric.

    Args:
        facts: About the benchmark.
        metric: `phi` or `delta`.
    """
    rows = [
        {"system": system, "x": x, "share": share}
        for system in facts.systems
        for x, share in steps(facts, metric, system)
    ]
    if not rows:
        return None
    chosen = alt.selection_point(fields=["system"], bind="legend", name="chosen")
    near = alt.selection_point(
        nearest=True, on="pointerover", empty=False, clear="pointerout", name="near"
    )
    zoom = alt.selection_interval(bind="scales", name="zoom")
    seen = alt.when(chosen).then(alt.value(1)).otherwise(alt.value(0.08))
    scale = alt.Scale(domain=facts.systems, range=palette(len(facts.systems)))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("x:Q", title=TITLES[metric], scale=alt.Scale(domain=list(RANGES[metric]))),
        y=alt.Y(
            "share:Q",
            title="Share of questions above",
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        color=alt.Color("system:N", scale=scale, legend=legend(symbolStrokeWidth=3)),
        opacity=seen,
    )
    symbol = "Φ" if metric == "phi" else "Δ"
    told = [
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("x:Q", title=symbol, format=".4f"),
        alt.Tooltip("share:Q", title="Questions above", format=".1%"),
    ]
    lines = base.mark_line(interpolate="step-after", strokeWidth=2, clip=True)
    points = (
        base.mark_point(filled=True, clip=True, size=70)
        .encode(
            opacity=alt.when(near).then(alt.value(1)).otherwise(alt.value(0)),
            tooltip=told,
        )
        .transform_filter(chosen)
    )
    layers: list[Any] = [lines.add_params(chosen, zoom), points.add_params(near)]
    marked = guide(facts, metric)
    if marked is not None:
        layers.insert(
            0,
            alt.Chart(alt.InlineData(values=[{"x": marked}]))
            .mark_rule(strokeDash=[4, 4], color=BOUNDARY)
            .encode(x="x:Q"),
        )
    return alt.layer(*layers).properties(width=WIDTH, height=340).to_dict(validate=False)


def guide(facts: Facts, metric: str) -> float | None:
    """Where a line helps to read the curve: chance for phi, 0 for delta.

    Chance is 1 by the number of options, and only where all questions have equally many.
    """
    if metric == "delta":
        return 0.0
    options = facts.totals.get("fewest_options"), facts.totals.get("most_options")
    return 1 / options[0] if options[0] and options[0] == options[1] else None


def steps(facts: Facts, metric: str, system: str) -> list[tuple[float, float]]:
    """The points of one curve, thinned where they lie closer than can be drawn.

    The curve begins at the lower end of the scale, where all questions lie above unless some have
    that very value, and ends at the upper one.
    """
    own = facts.curves.filter(pl.col("metric") == metric, pl.col("system") == system)
    if own.is_empty():
        return []
    low, high = RANGES[metric]
    points = list(own.select("threshold", "share_above").iter_rows())
    begin = [] if points[0][0] <= low else [(low, 1.0)]
    end = [] if points[-1][0] >= high else [(high, 0.0)]
    return thinned([*begin, *points, *end], (high - low) / MOST_STEPS, guide(facts, metric))


def thinned(
    points: list[tuple[float, float]], apart: float, at: float | None
) -> list[tuple[float, float]]:
    """Of a curve's points the last in each stretch of its scale, with the first of all.

    Each that stays is exact, and so is the curve at the end of each stretch; within a stretch a
    step may be drawn late by less than the stretch is wide.

    Args:
        points: Values with the share of questions above each, ascending.
        apart: How wide a stretch is.
        at: A value at which people read the curve, which is exact there.
    """
    kept = points[:1]
    for point, after in pairwise([*points[1:], None]):
        if point is not None and (
            after is None
            or after[0] // apart != point[0] // apart
            or (at is not None and point[0] <= at < after[0])
        ):
            kept.append(point)
    return kept
