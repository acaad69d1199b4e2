"""The first page of the report: every benchmark with its best systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from assets.publishing.report.formatting import format_number, format_time
from assets.publishing.report.templates_env import INDEX_SCRIPTS, render_page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.publishing.report.panel import BenchmarkData

Row = dict[str, Any]

MAX_METRICS = 4
MAX_SYSTEMS = 5
INTERVAL_WIDTH = 110


def index_page(benchmarks: Sequence[BenchmarkData]) -> str:
    """Return the first page."""
    cards = [
        {
            "name": data.benchmark,
            "address": f"report/{data.folder}/index.html",
            "totals": data.totals,
            "n_systems": len(data.systems),
            "metrics": [
                metric_table(data.metric_rows(*name).to_dicts())
                for name in data.primary_metrics[:MAX_METRICS]
            ],
            "more_metrics": max(0, len(data.primary_metrics) - MAX_METRICS),
        }
        for data in benchmarks
    ]
    latest = max((data.published_at for data in benchmarks), default=None)
    return render_page(
        "index.html.j2", INDEX_SCRIPTS, benchmarks=cards, published_at=format_time(latest)
    )


def metric_table(rows: list[Row]) -> Row:
    """Return the best systems by one metric, from its rows of the leaderboard."""
    first = rows[0]
    low, high = metric_scale(rows)
    return {
        "name": f"{first['evaluator']}.{first['metric']}",
        "arrow": {"high": "↑", "low": "↓"}[first["best"]],
        "more": max(0, len(rows) - MAX_SYSTEMS),
        "rows": [
            {
                "system": row["system"],
                "mean": format_number(row["mean"]),
                "is_best": row["rank"] == 1 or row["tied_with_best"] == 1,
                "interval": interval_svg(row, low, high),
            }
            for row in rows[:MAX_SYSTEMS]
        ],
    }


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
