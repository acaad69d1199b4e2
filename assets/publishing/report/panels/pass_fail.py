"""Passes and failures: for pass-fail evaluators, the share of each outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from assets.charts.style import (
    FACET_WIDTH,
    FACETS_PER_ROW,
    MAX_SYSTEMS,
    WIDTH,
    facet_header,
    inline,
)
from assets.publishing.report.formatting import NO_VALUE, format_percent, format_words
from assets.publishing.report.panel import Content, Panel

if TYPE_CHECKING:
    from assets.charts.style import Spec
    from assets.publishing.report.benchmark_data import BenchmarkData

OUTCOMES = (
    *("passes", "failures", "retrieval_failures", "generation_failures"),
    "parse_failures",
)

CHART_COLOURS = {
    "passes": "#2f9e44",
    "retrieval_failures": "#f59f00",
    "generation_failures": "#e03131",
    "parse_failures": "#868e96",
}


def build(data: BenchmarkData) -> Content | None:
    """Return a table per pass-fail evaluator and the chart of all of them."""
    evaluators = pass_fail_evaluators(data)
    if not evaluators:
        return None
    return Content(
        values={
            "heads": [*map(format_words, OUTCOMES), "scored"],
            "tables": [(evaluator, outcome_rows(data, evaluator)) for evaluator in evaluators],
        },
        charts={"failures": failures_chart(data)},
    )


def pass_fail_evaluators(data: BenchmarkData) -> list[str]:
    """Return the evaluators with a share of passes, by name."""
    rows = data.overall.filter(pl.col("metric") == "passes", pl.col("mean").is_not_null())
    return rows["evaluator"].unique().sort().to_list()


def outcome_rows(data: BenchmarkData, evaluator: str) -> list[tuple[str, list[str]]]:
    """Return the shares of the outcomes for each system."""
    rows = data.overall.filter(pl.col("evaluator") == evaluator, pl.col("metric").is_in(OUTCOMES))
    cells = {(row["system"], row["metric"]): row for row in rows.iter_rows(named=True)}
    table = []
    for system in data.ranked_systems:
        passes = cells.get((system, "passes"))
        if passes is None:
            continue
        shares = [
            format_percent(cells[system, outcome]["mean"])
            if (system, outcome) in cells
            else NO_VALUE
            for outcome in OUTCOMES
        ]
        table.append((system, [*shares, f"{passes['n_scored']:,} of {passes['n']:,}"]))
    return table


def failures_chart(data: BenchmarkData) -> Spec | None:
    """Draw passes and failures by cause, one facet per evaluator."""
    evaluators = pass_fail_evaluators(data)
    systems = data.ranked_systems[:MAX_SYSTEMS]
    scores = data.overall.filter(
        pl.col("metric").is_in(list(CHART_COLOURS)), pl.col("mean").is_not_null()
    )
    rows = [
        {
            "evaluator": row["evaluator"],
            "system": row["system"],
            "outcome": format_words(row["metric"]),
            "share": row["mean"],
        }
        for row in scores.iter_rows(named=True)
        if row["evaluator"] in evaluators and row["system"] in systems
    ]
    if not rows:
        return None
    outcomes = [format_words(outcome) for outcome in CHART_COLOURS]
    is_single = len(evaluators) == 1
    chart: Spec = (
        alt.Chart(inline(rows))
        .mark_bar(height={"band": 0.8})
        .encode(
            x=alt.X(
                "share:Q", title=None, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
            ),
            y=alt.Y("system:N", sort=systems, title=None),
            yOffset=alt.YOffset("outcome:N", sort=outcomes),
            color=alt.Color(
                "outcome:N",
                title="Share of the answers",
                scale=alt.Scale(domain=outcomes, range=list(CHART_COLOURS.values())),
                legend=alt.Legend(orient="bottom", columns=4),
            ),
            tooltip=[
                alt.Tooltip("system:N", title="System"),
                alt.Tooltip("outcome:N", title="Outcome"),
                alt.Tooltip("share:Q", title="Share", format=".1%"),
            ],
        )
        .properties(
            width=WIDTH if is_single else FACET_WIDTH,
            height=alt.Step(9, **{"for": "offset"}),
        )
        .facet(
            facet=alt.Facet("evaluator:N", header=facet_header()),
            columns=1 if is_single else FACETS_PER_ROW,
        )
        .to_dict(validate=False)
    )
    return chart


PANEL = Panel(
    name="boolean",
    title="Passes and failures",
    position=30,
    build=build,
    template="pass_fail.html.j2",
)
