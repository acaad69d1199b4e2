"""Accuracy by noise: the same questions with more and more irrelevant passages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from assets.charts import style
from assets.publishing.report.formatting import format_percent
from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

MEANS = """
SELECT q.benchmark, q.noise_ratio, s.system, s.evaluator, s.metric,
    avg(s.value) AS mean, count(s.value) AS n_scored
FROM questions AS q
INNER JOIN scores AS s USING (benchmark, question_id)
INNER JOIN (
    SELECT DISTINCT benchmark, evaluator, metric, signature FROM leaderboard
    WHERE benchmark IN ({benchmarks}) AND evaluator = 'noise_robustness' AND is_primary = 1
) USING (benchmark, evaluator, metric, signature)
WHERE q.benchmark IN ({benchmarks}) AND q.noise_ratio IS NOT NULL
GROUP BY ALL
ORDER BY s.evaluator, s.metric, s.system, q.noise_ratio
"""

MIN_LEVELS = 2
"""A line needs two points."""

NO_INTERVAL: dict[str, float | None] = {"ci_low": None, "ci_high": None}

INTERVAL_STEP = 0.012
"""The distance of the intervals of two systems at one level, as a share of the axis."""


def build(data: BenchmarkData, means: pl.DataFrame) -> Content | None:
    """Return the accuracy of each system by noise level, as chart and table."""
    rows = means.to_dicts()
    chart = noise_chart(data, rows)
    if chart is None:
        return None
    levels = sorted({row["noise_ratio"] for row in rows})
    cells = {(row["system"], row["noise_ratio"]): row["mean"] for row in rows}
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


def noise_chart(data: BenchmarkData, means: Sequence[dict[str, Any]]) -> style.Spec | None:
    """Draw accuracy by the share of irrelevant passages, one line per system."""
    systems = data.ranked_systems[: style.MAX_SYSTEMS]
    shown = [row for row in means if row["system"] in systems and row["mean"] is not None]
    levels = sorted({row["noise_ratio"] for row in shown})
    if len(levels) < MIN_LEVELS:
        return None
    y = style.quantity("mean", title="Accuracy", axis={"format": "%"}, scale={"domain": [0, 1]})
    present = {row["system"] for row in shown}
    drawn = [system for system in systems if system in present]
    step = INTERVAL_STEP * (levels[-1] - levels[0])
    middle = (len(drawn) - 1) / 2
    places = {system: at - middle for at, system in enumerate(drawn)}
    intervals = _intervals(data)
    rows = [
        {
            **{name: row[name] for name in ("noise_ratio", "system", "mean", "n_scored")},
            **style.interval(
                row
                | intervals.get((row["system"], f"noise_ratio={row['noise_ratio']}"), NO_INTERVAL)
            ),
            "x": row["noise_ratio"] + step * places[row["system"]],
        }
        for row in shown
    ]
    ends = {row["system"]: row["mean"] for row in rows if row["noise_ratio"] == levels[-1]}
    chosen = {
        "name": "chosen",
        "select": {"type": "point", "fields": ["system"]},
        "bind": "legend",
    }
    shared = {
        "x": style.quantity(
            "x",
            title="Share of irrelevant passages",
            axis={"format": "%", "values": levels},
            scale={"domain": style.widened(levels[0], levels[-1]), "padding": 14, "nice": False},
        ),
        **style.system_lines(data.systems, values=drawn, **style.LINE_LEGEND),
        "opacity": {"condition": {"param": "chosen", "value": 1}, "value": 0.12},
        "tooltip": [
            style.SYSTEM_TOOLTIP,
            style.quantity("noise_ratio", title="Noise", format=".0%"),
            style.quantity("mean", title="Accuracy", format=".1%"),
            style.quantity("low", title="95 % from", format=".1%"),
            style.quantity("high", title="to", format=".1%"),
            style.quantity("n_scored", title="Questions"),
        ],
    }
    return style.to_spec(
        {
            "data": {"values": rows},
            "layer": [
                {
                    "mark": {"type": "rule", "strokeWidth": 1.5},
                    "encoding": {
                        **shared,
                        "strokeDash": {"value": [1, 0]},
                        "y": style.quantity("from"),
                        "y2": {"field": "to"},
                    },
                },
                {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": {**shared, "y": y}},
                {
                    "mark": {"type": "point", "filled": True, "size": 60},
                    "encoding": {**shared, "strokeDash": {"value": [1, 0]}, "y": y},
                    "params": [chosen],
                },
                *style.end_labels(ends, {"x": levels[-1] + step * len(drawn) / 2}, "mean"),
            ],
            "width": style.WIDTH,
            "height": 300,
        }
    )


def _intervals(data: BenchmarkData) -> dict[tuple[str, str], dict[str, float | None]]:
    """Return the intervals of accuracy by system and slice."""
    own = data.board.filter(pl.col("evaluator") == "noise_robustness", pl.col("is_primary") == 1)
    return {
        (system, slice_name): {"ci_low": low, "ci_high": high}
        for system, slice_name, low, high in own.select(
            "system", "slice", "ci_low", "ci_high"
        ).iter_rows()
    }


PANEL = Panel(title="Accuracy by noise", position=60, build=build, queries={"means": MEANS})
