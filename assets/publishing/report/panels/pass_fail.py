"""Passes and failures: for pass-fail evaluators, the share of each outcome."""

from __future__ import annotations

from assets.charts import style
from assets.charts.sort_order import evaluators_in_order
from assets.publishing.report.formatting import format_percent, format_words
from assets.publishing.report.panel import BenchmarkData, Content, Panel

OUTCOMES = ("passes", "failures", "retrieval_failures", "generation_failures", "parse_failures")

CHART_COLOURS = {
    "passes": "#2f9e44",
    "retrieval_failures": "#f59f00",
    "generation_failures": "#e03131",
    "parse_failures": "#868e96",
}


def build(data: BenchmarkData) -> Content | None:
    """Return a table per pass-fail evaluator and the chart of all of them."""
    measured = [row for row in data.overall if row["mean"] is not None]
    evaluators = evaluators_in_order(row for row in measured if row["metric"] == "passes")
    if not evaluators:
        return None
    return Content(
        values={
            "heads": [*map(format_words, OUTCOMES), "scored"],
            "tables": [(evaluator, outcome_rows(data, evaluator)) for evaluator in evaluators],
        },
        charts={"failures": failures_chart(data, evaluators)},
    )


def outcome_rows(data: BenchmarkData, evaluator: str) -> list[tuple[str, list[str]]]:
    """Return the shares of the outcomes for each system."""
    own = (row for row in data.overall if row["evaluator"] == evaluator)
    cells = {(row["system"], row["metric"]): row for row in own}
    rows = []
    for system in data.ranked_systems:
        if (system, "passes") in cells:
            passes = cells[system, "passes"]
            means = [cells.get((system, outcome), {}).get("mean") for outcome in OUTCOMES]
            scored = f"{passes['n_scored']:,} of {passes['n']:,}"
            rows.append((system, [*map(format_percent, means), scored]))
    return rows


def failures_chart(data: BenchmarkData, evaluators: list[str]) -> style.Spec | None:
    """Draw passes and failures by cause, one facet per evaluator."""
    systems = data.ranked_systems[: style.MAX_SYSTEMS]
    rows = [
        {
            "evaluator": row["evaluator"],
            "system": row["system"],
            "outcome": format_words(row["metric"]),
            "share": row["mean"],
        }
        for row in data.overall
        if row["evaluator"] in evaluators
        and row["system"] in systems
        and row["metric"] in CHART_COLOURS
        and row["mean"] is not None
    ]
    if not rows:
        return None
    outcomes = [format_words(outcome) for outcome in CHART_COLOURS]
    bars = {
        "mark": {"type": "bar", "height": {"band": 0.8}},
        "encoding": {
            "x": style.quantity(
                "share", title=None, axis={"format": "%"}, scale={"domain": [0, 1]}
            ),
            "y": style.nominal("system", sort=systems, title=None),
            "yOffset": style.nominal("outcome", sort=outcomes),
            "color": style.nominal(
                "outcome",
                title="Share of the answers",
                scale={"domain": outcomes, "range": list(CHART_COLOURS.values())},
                legend={"orient": "bottom", "columns": 4},
            ),
            "tooltip": [
                style.SYSTEM_TOOLTIP,
                style.nominal("outcome", title="Outcome"),
                style.quantity("share", title="Share", format=".1%"),
            ],
        },
        "height": {"step": 9, "for": "offset"},
    }
    return style.to_spec(style.facet(bars, rows, "evaluator", evaluators))


PANEL = Panel(title="Passes and failures", position=30, build=build)
