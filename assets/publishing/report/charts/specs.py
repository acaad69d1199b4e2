"""The charts of a benchmark as Vega-Lite specifications, for the page and for files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from assets.charts.colours import BOUNDARY, STACK
from assets.charts.leaderboard import MOST_SYSTEMS, PANEL, PANELS_BESIDE, WIDTH, hue, panel_header
from assets.charts.pareto import ends, fronts

if TYPE_CHECKING:
    from assets.charts.leaderboard import Spec
    from assets.publishing.report.page_data import Facts


def noise(facts: Facts) -> Spec | None:
    """Accuracy by the share of irrelevant passages, one line a system."""
    order = facts.order[:MOST_SYSTEMS]
    intervals = {
        (row["system"], row["slice"]): (row["ci_low"], row["ci_high"])
        for row in facts.board.iter_rows(named=True)
        if row["evaluator"] == "noise_robustness" and row["is_primary"] == 1
    }
    rows = [
        row | {"low": low, "high": high} | ends(row["mean"], low, high)
        for row in facts.noise.filter(pl.col("system").is_in(order)).iter_rows(named=True)
        for low, high in [
            intervals.get((row["system"], f"noise_ratio={row['noise_ratio']}"), (None, None))
        ]
        if row["mean"] is not None
    ]
    levels = sorted({row["noise_ratio"] for row in rows})
    if len(levels) < 2:  # noqa: PLR2004 - a line has two ends
        return None
    chosen = alt.selection_point(fields=["system"], bind="legend", name="chosen")
    told = [
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("noise_ratio:Q", title="Noise", format=".0%"),
        alt.Tooltip("mean:Q", title="Accuracy", format=".1%"),
        alt.Tooltip("low:Q", title="95 % from", format=".1%"),
        alt.Tooltip("high:Q", title="to", format=".1%"),
        alt.Tooltip("n_scored:Q", title="Questions"),
    ]
    axis = alt.Axis(format="%", values=levels)
    x = alt.X("noise_ratio:Q", title="Share of irrelevant passages", axis=axis)
    base = alt.Chart(_values(rows)).encode(
        x=x,
        color=hue(facts.systems, facts.order[:MOST_SYSTEMS]),
        opacity=alt.when(chosen).then(alt.value(1)).otherwise(alt.value(0.12)),
        tooltip=told,
    )
    y = alt.Y("mean:Q", title="Accuracy", axis=alt.Axis(format="%"))
    return (
        alt.layer(
            base.mark_rule(strokeWidth=1.5).encode(y="from:Q", y2="to:Q"),
            base.mark_line(strokeWidth=2.5).encode(y=y),
            base.mark_point(filled=True, size=60).encode(y=y).add_params(chosen),
        )
        .properties(width=WIDTH, height=300)
        .to_dict(validate=False)
    )


def failures(facts: Facts) -> Spec | None:
    """What became of the answers in the boolean evaluators: passes, failures by origin."""
    kinds = ("passes", "retrieval_failures", "generation_failures", "parse_failures")
    boards = facts.whole.filter(pl.col("metric").is_in(kinds), pl.col("mean").is_not_null())
    evaluators = boards.filter(pl.col("metric") == "passes")["evaluator"].unique().sort().to_list()
    order = facts.order[:MOST_SYSTEMS]
    rows = [
        {
            "evaluator": row["evaluator"],
            "system": row["system"],
            "outcome": row["metric"].replace("_", " "),
            "share": row["mean"],
        }
        for row in boards.iter_rows(named=True)
        if row["evaluator"] in evaluators and row["system"] in order
    ]
    if not rows:
        return None
    outcomes = [kind.replace("_", " ") for kind in kinds]
    header = panel_header()
    drawn: Spec = (
        alt.Chart(_values(rows))
        .mark_bar(height={"band": 0.8})
        .encode(
            x=alt.X(
                "share:Q", title=None, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
            ),
            y=alt.Y("system:N", sort=order, title=None),
            yOffset=alt.YOffset("outcome:N", sort=outcomes),
            color=alt.Color(
                "outcome:N",
                title="Share of the answers",
                scale=alt.Scale(domain=outcomes, range=list(STACK)),
                legend=alt.Legend(orient="bottom", columns=4),
            ),
            tooltip=[
                alt.Tooltip("system:N", title="System"),
                alt.Tooltip("outcome:N", title="Outcome"),
                alt.Tooltip("share:Q", title="Share", format=".1%"),
            ],
        )
        .properties(
            width=WIDTH if len(evaluators) == 1 else PANEL,
            height=alt.Step(9, **{"for": "offset"}),
        )
        .facet(
            facet=alt.Facet("evaluator:N", header=header),
            columns=1 if len(evaluators) == 1 else PANELS_BESIDE,
        )
        .to_dict(validate=False)
    )
    return drawn


def spending(facts: Facts, measure: str) -> Spec | None:
    """Quality against what it costs, with the systems that none beats in both.

    Args:
        facts: About the benchmark.
        measure: `mean_cost` (US dollars an answer) or `median_latency` (seconds).
    """
    rows = fronts(facts, measure)
    if not rows:
        return None
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    title = {"mean_cost": "US dollars an answer (mean)", "median_latency": "Seconds (median)"}[
        measure
    ]
    money = measure == "mean_cost"
    chosen = alt.param(
        name="quality",
        value=metrics[0],
        bind=alt.binding_select(options=metrics, name="Quality by "),
    )
    shown = alt.Chart(_values(rows)).transform_filter("datum.metric === quality")
    axis = alt.Axis(format="$~g" if money else "~g", tickCount=4)
    scale = alt.Scale(padding=24, nice=False)
    x = alt.X("spent:Q", title=title, axis=axis, scale=scale)
    y = alt.Y("mean:Q", title="Mean", scale=alt.Scale(zero=False, padding=12))
    told = [
        alt.Tooltip("system:N", title="System"),
        alt.Tooltip("mean:Q", title="Mean", format=".4f"),
        alt.Tooltip("spent:Q", title=title, format="$.4~g" if money else ".3~f"),
        alt.Tooltip("place:N", title="Note"),
    ]
    front = (
        shown.transform_filter("datum.on_front")
        .mark_line(interpolate="step-after", strokeDash=[5, 4], strokeWidth=1.5, color=BOUNDARY)
        .encode(x=x, y=y)
    )
    points = shown.encode(x=x, y=y, color=hue(facts.systems), tooltip=told)
    return (
        alt.layer(
            front,
            shown.mark_rule(strokeWidth=1.5).encode(
                x=x, y=alt.Y("from:Q"), y2="to:Q", color=hue(facts.systems)
            ),
            points.mark_point(filled=True, size=110, opacity=1),
            points.mark_text(align="left", dx=9, dy=-7, fontSize=12, limit=140).encode(
                text="system:N"
            ),
        )
        .add_params(chosen)
        .properties(width=WIDTH, height=300)
        .to_dict(validate=False)
    )


def _values(rows: list[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=rows)
