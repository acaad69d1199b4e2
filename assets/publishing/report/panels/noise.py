"""Accuracy by noise: the same questions with more and more irrelevant passages."""

from __future__ import annotations

import altair as alt
import polars as pl

from assets.charts import style
from assets.publishing.report.formatting import format_percent
from assets.publishing.report.panel import BenchmarkData, Content, Panel

MEANS = """
SELECT q.noise_ratio, s.system, s.evaluator, s.metric, avg(s.value) AS mean,
    count(s.value) AS n_scored
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
    return Content(
        values={
            "heads": [f"{level:g}" for level in levels],
            "rows": [
                (system, [format_percent(cells.get((system, level))) for level in levels])
                for system in data.ranked_systems
            ],
            "has_intervals": any(name.startswith("noise_ratio=") for name in data.slices),
        },
        charts={"noise": chart},
    )


def noise_chart(data: BenchmarkData, means: pl.DataFrame) -> style.Spec | None:
    """Draw accuracy by the share of irrelevant passages, one line per system."""
    systems = data.ranked_systems[: style.MAX_SYSTEMS]
    intervals = data.board.filter(
        pl.col("evaluator") == "noise_robustness", pl.col("is_primary") == 1
    ).select("system", "slice", "ci_low", "ci_high")
    rows = (
        means.filter(pl.col("system").is_in(systems), pl.col("mean").is_not_null())
        .with_columns(slice=pl.format("noise_ratio={}", "noise_ratio"))
        .join(intervals, on=["system", "slice"], how="left", maintain_order="left")
        .select("noise_ratio", "system", "mean", "n_scored", **style.INTERVAL_COLUMNS)
    )
    levels = rows["noise_ratio"].unique().sort().to_list()
    if len(levels) < MIN_LEVELS:
        return None
    selected = alt.selection_point(fields=["system"], bind="legend", name="chosen")
    base = alt.Chart(alt.InlineData(values=rows.to_dicts())).encode(
        x=alt.X(
            "noise_ratio:Q",
            title="Share of irrelevant passages",
            axis=alt.Axis(format="%", values=levels),
        ),
        color=style.system_colour(data.systems, values=sorted(systems)),
        opacity=alt.when(selected).then(alt.value(1)).otherwise(alt.value(0.12)),
        tooltip=[
            style.SYSTEM_TOOLTIP,
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
        .properties(width=style.WIDTH, height=300)
        .to_dict(validate=False)
    )


PANEL = Panel(title="Accuracy by noise", position=60, build=build, queries={"means": MEANS})
