"""The first page of the report: every benchmark with its best systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from assets.leaderboard.winner import best_systems, describe_winner
from assets.publishing.report.formatting import format_number, format_time, gate_state, isolate
from assets.publishing.report.templates_env import INDEX_SCRIPTS, render_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.publishing.report.panel import BenchmarkData

Row = dict[str, Any]

MAX_GATES = 6
"""The gates of a benchmark that the first page lists, failed ones first."""

MAX_METRICS = 4
MAX_SYSTEMS = 5
INTERVAL_WIDTH = 110


def index_page(cards: Sequence[Row]) -> str:
    """Return the first page, given the `index_card` of each benchmark."""
    latest = max((card["published_at"] for card in cards), default=None)
    return render_page(
        "index.html.j2", INDEX_SCRIPTS, benchmarks=cards, published_at=format_time(latest)
    )


def index_card(data: BenchmarkData) -> Row:
    """Return what the first page shows of a benchmark."""
    return {
        "name": data.benchmark,
        "address": f"report/{data.folder}/index.html",
        "published_at": data.published_at,
        "totals": data.totals,
        "gates": [
            {"state": gate_state(row), "message": row["message"]}
            for row in data.gates.head(MAX_GATES).iter_rows(named=True)
        ],
        "more_gates": max(0, data.gates.height - MAX_GATES),
        "n_systems": len(data.systems),
        "metrics": [metric_table(data, *name) for name in data.shown_metrics[:MAX_METRICS]],
        "more_metrics": max(0, len(data.shown_metrics) - MAX_METRICS),
    }


def metric_table(data: BenchmarkData, evaluator: str, metric: str) -> Row:
    """Return the first systems of a benchmark with their means by one metric."""
    own = (pl.col("evaluator") == evaluator) & (pl.col("metric") == metric)
    by_system = {row["system"]: row for row in data.overall.filter(own).iter_rows(named=True)}
    rows = [by_system[system] for system in data.ranked_systems if system in by_system]
    first, best = rows[0], best_systems(rows)
    low, high = metric_scale(rows)
    return {
        "name": f"{first['evaluator']}.{first['metric']}",
        "arrow": {"high": "↑", "low": "↓"}[first["best"]],
        "winner": describe_winner(rows, isolate),
        "more": max(0, len(rows) - MAX_SYSTEMS),
        "rows": [
            {
                "system": row["system"],
                "mean": format_number(row["mean"]),
                "part": scored_part(row),
                "is_best": row["system"] in best,
                "interval": "" if row["mean"] is None else interval_svg(row, low, high),
            }
            for row in rows[:MAX_SYSTEMS]
        ],
    }


def scored_part(row: Row) -> str:
    """Return how many of the applicable samples have a score; empty if all of them have one."""
    applicable = row["n"] - row["n_not_applicable"]
    if applicable == 0:
        return "not applicable"
    return "" if row["n_scored"] == applicable else f"{row['n_scored']:,} of {applicable:,} scored"


def metric_scale(rows: list[Row]) -> tuple[float, float]:
    """Return the bounds of a metric, or the range of its means and intervals."""
    low, high = rows[0]["scale_low"], rows[0]["scale_high"]
    if low is None or high is None:
        values = [row[column] for row in rows for column in ("mean", "ci_low", "ci_high")]
        known = [value for value in values if value is not None]
        low, high = min(0.0, *known), max(known)
    return (low, high) if low < high else (low - 1, high + 1)


def interval_svg(row: Row, low: float, high: float) -> Markup:
    """Return a mean as a point and its interval as a line, as inline SVG."""

    def x(value: float) -> float:
        return round(5 + (INTERVAL_WIDTH - 10) * (value - low) / (high - low), 1)

    label = f"mean {row['mean']:.3f}"
    line = Markup()
    if row["ci_low"] is not None:
        label += f", 95 % interval {row['ci_low']:.3f} to {row['ci_high']:.3f}"
        line = Markup('<line class="ci" x1="{}" x2="{}" y1="9" y2="9"></line>').format(
            x(row["ci_low"]), x(row["ci_high"])
        )
    return Markup(
        '<svg class="interval-bar" role="img" aria-label="{}" width="{}" height="18" '
        'viewBox="0 0 {} 18">'
        '<rect class="rail" x="4" y="8.5" width="{}" height="1"></rect>{}'
        '<circle class="mean" cx="{}" cy="9" r="4"></circle></svg>'
    ).format(label, INTERVAL_WIDTH, INTERVAL_WIDTH, INTERVAL_WIDTH - 8, line, x(row["mean"]))
