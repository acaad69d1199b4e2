"""Accuracy by noise: the same questions with more and more irrelevant passages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl

from assets.charts.style import MAX_SYSTEMS, WIDTH, inline, interval_ends, legend, system_colour
from assets.publishing.report.formatting import format_percent
from assets.publishing.report.panel import Content, Panel

if TYPE_CHECKING:
    from assets.charts.style import Spec
    from assets.publishing.report.benchmark_data import BenchmarkData

MEANS = """
SELECT q.noise_ratio, s.system, s.evaluator, s.metric, avg(s.value) AS mean,
    count(s.value) AS n_scored, count(*) AS n
FROM questions AS q
INNER JOIN scores AS s USING (benchmark, question_id)
INNER JOIN (
    SELECT DISTINCT evaluator, metric, signature FROM leaderboard
    WHERE benchmark = $benchmark AND evaluator = 'noise_robustness' AND is_primary = 1
) USING (evaluator, metric, signature)
WHERE q.benchmark = $benchmark AND q.noise_ratio IS NOT NULL
GROUP BY ALL
ORDER BY s.evaluator, s.metric, s.system, q.noise_ratio
"""

MIN_LEVELS = 2
"""A line needs two points."""


def build(data: BenchmarkData, means: pl.DataFrame) -> Content | None:
    """Return the accuracy of each system by noise level, as chart and table."""
    chart = noise_chart(data, means)
    if chart is None:
        return None
    levels = means["noise_ratio"].unique().sort().to_list()
    cells = {(row["system"], row["noise_ratio"]): row["mean"] for row in means.to_dicts()}
    is_sliced = any(name.startswith("noise_ratio=") for name in data.slices)
    return Content(
        values={
            "heads": [f"{level:g}" for level in levels],
            "rows": [
                (system, [format_percent(cells.get((system, level))) for level in levels])
                for system in data.ranked_systems
            ],
            "has_intervals": is_sliced,
        },
        charts={"noise": chart},
    )


def noise_chart(data: BenchmarkData, means: pl.DataFrame) -> Spec | None:
    """Draw accuracy by the share of irrelevant passages, one line per system."""
    systems = data.ranked_systems[:MAX_SYSTEMS]
    intervals = {
        (row["system"], row["slice"]): (row["ci_low"], row["ci_high"])
        for row in data.board.iter_rows(named=True)
        if row["evaluator"] == "noise_robustness" and row["is_primary"] == 1
    }
    rows = []
    shown = means.filter(pl.col("system").is_in(systems), pl.col("mean").is_not_null())
    for row in shown.iter_rows(named=True):
        slice_name = f"noise_ratio={row['noise_ratio']}"
        low, high = intervals.get((row["system"], slice_name), (None, None))
        rows.append(row | {"low": low, "high": high} | interval_ends(row["mean"], low, high))
    levels = shown["noise_ratio"].unique().sort().to_list()
    if len(levels) < MIN_LEVELS:
        return None
    selected = alt.selection_point(fields=["system"], bind="legend", name="chosen")
    base = alt.Chart(inline(rows)).encode(
        x=alt.X(
            "noise_ratio:Q",
            title="Share of irrelevant passages",
            axis=alt.Axis(format="%", values=levels),
        ),
        color=system_colour(data.systems, legend=legend(values=sorted(systems))),
        opacity=alt.when(selected).then(alt.value(1)).otherwise(alt.value(0.12)),
        tooltip=[
            alt.Tooltip("system:N", title="System"),
            alt.Tooltip("noise_ratio:Q", title="Noise", format=".0%"),
            alt.Tooltip("mean:Q", title="Accuracy", format=".1%"),
            alt.Tooltip("low:Q", title="95 % from", format=".1%"),
            alt.Tooltip("high:Q", title="to", format=".1%"),
            alt.Tooltip("n_scored:Q", title="Questions"),
        ],
    )
    y = alt.Y("mean:Q", title="Accuracy", axis=alt.Axis(format="%"))
    return (
        alt.layer(
            base.mark_rule(strokeWidth=1.5).encode(y="from:Q", y2="to:Q"),
            base.mark_line(strokeWidth=2.5).encode(y=y),
            base.mark_point(filled=True, size=60).encode(y=y).add_params(selected),
        )
        .properties(width=WIDTH, height=300)
        .to_dict(validate=False)
    )


PANEL = Panel(
    name="noise",
    title="Accuracy by noise",
    position=60,
    queries={"means": MEANS},
    build=build,
    template="noise.html.j2",
)
