"""The leaderboard: a sortable table by metric and slice, and a chart of the primary metrics."""

from __future__ import annotations

from typing import Any

from assets.charts.leaderboard import leaderboard_chart
from assets.leaderboard.winner import best_systems
from assets.publishing.report.data_files import to_json
from assets.publishing.report.formatting import format_number
from assets.publishing.report.panel import ALL, BenchmarkData, Content, Panel

COLUMNS = (
    *("system", "metric", "mean", "n", "n_scored", "n_not_applicable", "n_undefined"),
    *("n_parse_failure", "n_judge_error", "n_target_error", "coverage", "bound_low", "bound_high"),
    *("ci_low", "ci_high", "ci_method", "rank", "rank_low", "rank_high", "mark"),
    *("passes", "chance", "n_not_asked", "n_common", "common_mean", "is_best"),
)
"""The columns of the leaderboard in the page; systems and metrics are indexes there, and `is_best`
marks the systems of `best_systems`: the winner or, without one, those that are tied."""


def build(data: BenchmarkData) -> Content:
    """Return the leaderboard over all questions, with a data file for each other slice."""
    return Content(
        values=dict(zip(("heads", "rows"), static_table(data), strict=True)),
        charts={"leaderboard": leaderboard_chart(data.overall, data.systems)},
        page_data={
            "slices": data.slices,
            "columns": COLUMNS,
            "board": slice_rows(data, ALL),
        },
        files=(
            (f"slice-{at}", to_json(slice_rows(data, name)))
            for at, name in enumerate(data.slices)
            if name != ALL
        ),
    )


def static_table(data: BenchmarkData) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the means of the primary metrics with their intervals, for readers without scripts."""
    cells = {(row["system"], row["evaluator"], row["metric"]): row for row in data.overall}
    rows = [
        (system, [_mean_text(cells.get((system, *name))) for name in data.shown_metrics])
        for system in data.ranked_systems
    ]
    return [".".join(name) for name in data.shown_metrics], rows


def _mean_text(row: dict[str, Any] | None) -> str:
    if row is None or row["ci_low"] is None:
        return format_number(None if row is None else row["mean"])
    ends = f"{format_number(row['ci_low'])} to {format_number(row['ci_high'])}"
    return f"{format_number(row['mean'])} ({ends})"


def slice_rows(data: BenchmarkData, slice_name: str) -> list[list[Any]]:
    """Return the leaderboard of a slice as rows of `COLUMNS`."""
    systems = {system: at for at, system in enumerate(data.systems)}
    rows = data.rows_of_slice[slice_name]
    ranks = rows.select("system", "rank", "mark").to_dicts()
    names = list(zip(rows["evaluator"], rows["metric"], strict=True))
    by_metric: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, row in zip(names, ranks, strict=True):
        by_metric.setdefault(name, []).append(row)
    best = {(system, name) for name, group in by_metric.items() for system in best_systems(group)}
    return [
        [systems[system], data.metric_index[name], *numbers, (system, name) in best]
        for system, name, numbers in zip(
            rows["system"], names, rows.select(COLUMNS[2:-1]).rows(), strict=True
        )
        if name in data.metric_index
    ]


PANEL = Panel(title="Leaderboard", position=20, build=build)
