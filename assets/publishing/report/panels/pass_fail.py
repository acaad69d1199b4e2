"""Passes and failures: for pass-fail evaluators, the share of each outcome."""

from __future__ import annotations

import polars as pl

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
    passes = data.overall.filter(pl.col("metric") == "passes", pl.col("mean").is_not_null())
    evaluators = list(evaluators_in_order(passes))
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
    own = data.overall.filter(pl.col("evaluator") == evaluator)
    cells = {(row["system"], row["metric"]): row for row in own.iter_rows(named=True)}
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
    rows = data.overall.filter(
        pl.col("evaluator").is_in(evaluators),
        pl.col("system").is_in(systems),
        pl.col("metric").is_in(list(CHART_COLOURS)),
        pl.col("mean").is_not_null(),
    ).select(
        *("evaluator", "system"), outcome=pl.col("metric").str.replace_all("_", " "), share="mean"
    )
    if rows.is_empty():
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
    return style.to_spec(style.facet(bars, rows.to_dicts(), "evaluator", evaluators))


PANEL = Panel(title="Passes and failures", position=30, build=build)
