"""The first page: every benchmark with its best systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from assets.publishing.report import templates_env

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warehouse.publish.snapshot import OpenSnapshot

Row = dict[str, Any]

MOST_METRICS = 4
MOST_SYSTEMS = 5
WIDTH = 110

_BOARD = """
SELECT l.benchmark, l.system, l.evaluator, l.metric, l.mean, l.ci_low, l.ci_high, l.rank,
    l.tied_with_best, l.best, m.bound_low AS low, m.bound_high AS high
FROM leaderboard AS l
LEFT JOIN metrics AS m USING (evaluator, metric)
WHERE l.slice = 'all' AND l.is_primary = 1 AND l.mean IS NOT NULL
ORDER BY l.benchmark, l.evaluator, l.metric, l.rank, l.system
"""

_TOTALS = """
SELECT benchmark, max(published_at) AS published_at, count(DISTINCT system) AS n_systems,
    (SELECT count(*) FROM questions AS q WHERE q.benchmark = l.benchmark) AS n_questions,
    (SELECT count(*) FROM predictions AS p WHERE p.benchmark = l.benchmark AND error IS NOT NULL)
        AS failed,
    (SELECT count(*) FROM problems AS p WHERE p.benchmark = l.benchmark) AS problems,
    (SELECT count(*) FROM problems AS p WHERE p.benchmark = l.benchmark AND severity = 'high')
        AS grave,
    (SELECT count(*) FROM rejects AS r WHERE r.benchmark = l.benchmark) AS rejects
FROM leaderboard AS l
GROUP BY benchmark
ORDER BY benchmark
"""


def write_overview(copy: OpenSnapshot, folders: Mapping[str, str]) -> str:
    """The first page.

    Args:
        copy: The published copy.
        folders: The folder of each benchmark's report.
    """
    board = copy.fetch(_BOARD)
    totals = copy.fetch(_TOTALS)
    benchmarks = [
        {
            **row,
            "name": row["benchmark"],
            "address": f"report/{folders[row['benchmark']]}/index.html",
            **_metrics(board.filter(pl.col("benchmark") == row["benchmark"])),
        }
        for row in totals.iter_rows(named=True)
    ]
    latest = max((row["published_at"] for row in benchmarks), default=None)
    return templates_env.render(
        "index.html.j2",
        [templates_env.script(templates_env.INDEX_SCRIPTS)],
        benchmarks=benchmarks,
        published_at=templates_env.moment(latest),
    )


def _metrics(board: pl.DataFrame) -> Row:
    groups = board.partition_by("evaluator", "metric", maintain_order=True)
    shown = [_metric(group.to_dicts()) for group in groups[:MOST_METRICS]]
    return {"metrics": shown, "more_metrics": len(groups) - len(shown)}


def _metric(rows: list[Row]) -> Row:
    first = rows[0]
    low, high = _span(rows)
    return {
        "name": f"{first['evaluator']}.{first['metric']}",
        "arrow": {"high": "↑", "low": "↓"}[first["best"]],
        "more": len(rows) - len(rows[:MOST_SYSTEMS]),
        "rows": [
            {
                "system": row["system"],
                "mean": templates_env.short(row["mean"]),
                "leads": row["rank"] == 1 or row["tied_with_best"] == 1,
                "whisker": whisker(row, low, high),
            }
            for row in rows[:MOST_SYSTEMS]
        ],
    }


def _span(rows: list[Row]) -> tuple[float, float]:
    low, high = rows[0]["low"], rows[0]["high"]
    if low is None or high is None:
        ends = [
            end
            for row in rows
            for end in (row["mean"], row["ci_low"], row["ci_high"])
            if end is not None
        ]
        low, high = min(0.0, *ends), max(ends)
    return (low, high) if low < high else (low - 1, high + 1)


def whisker(row: Row, low: float, high: float) -> Markup:
    """A mean as a point and its interval as a line, as inline SVG."""

    def x(value: float) -> float:
        return round(5 + (WIDTH - 10) * (value - low) / (high - low), 1)

    told = f"mean {row['mean']:.3f}"
    line = Markup()
    if row["ci_low"] is not None:
        told += f", 95 % interval {row['ci_low']:.3f} to {row['ci_high']:.3f}"
        line = Markup('<line class="ci" x1="{}" x2="{}" y1="9" y2="9"></line>').format(
            x(row["ci_low"]), x(row["ci_high"])
        )
    return Markup(
        '<svg class="whisker" role="img" aria-label="{}" width="{}" height="18" '
        'viewBox="0 0 {} 18">'
        '<rect class="rail" x="4" y="8.5" width="{}" height="1"></rect>{}'
        '<circle class="mean" cx="{}" cy="9" r="4"></circle></svg>'
    ).format(told, WIDTH, WIDTH, WIDTH - 8, line, x(row["mean"]))
