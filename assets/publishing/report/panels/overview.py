"""The overview: counts and insights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    import polars as pl

# The verdicts above the overview name the winners and the best systems.
INSIGHTS = """
SELECT i.benchmark, i.kind, i.evaluator, i.metric, i.system, i.question_id, i.value, i.message
FROM insights AS i
LEFT JOIN (
    SELECT benchmark, evaluator, metric, any_value(position) AS position
    FROM leaderboard
    WHERE benchmark IN ({benchmarks})
    GROUP BY ALL
) AS l USING (benchmark, evaluator, metric)
WHERE i.benchmark IN ({benchmarks}) AND i.kind NOT IN ('winner', 'best_system')
QUALIFY row_number() OVER (
    PARTITION BY i.benchmark
    ORDER BY l.position NULLS LAST, i.kind, i.system, i.question_id
) <= 500
ORDER BY l.position NULLS LAST, i.kind, i.system, i.question_id
"""


@dataclass(frozen=True, slots=True)
class Tile:
    """A count, what it counts, and the section of the page with more about it."""

    value: int
    text: str
    section: str
    is_urgent: bool = False


def build(data: BenchmarkData, insights: pl.DataFrame) -> Content:
    """Return the counts and the insights."""
    return Content(
        values={
            "tiles": tiles(data),
            "insights": insights.to_dicts(),
        }
    )


def tiles(data: BenchmarkData) -> list[Tile]:
    """Return the counts, each with the section that shows what is counted."""
    primary = [row for row in data.overall if row["is_primary"] == 1]
    lost = sum(row["n_parse_failure"] + row["n_judge_error"] for row in primary)
    totals = data.totals
    high = totals["high_problems"]
    found = [
        Tile(totals["questions"], "questions", "questions"),
        Tile(len(data.systems), "systems", "leaderboard"),
        Tile(totals["failed"], "failed answers", "problems"),
        Tile(lost, "scores missing because the judge failed or was not asked", "leaderboard"),
        Tile(
            totals["problems"],
            f"problems, {high:,} of high severity" if totals["problems"] else "problems",
            "problems",
            is_urgent=high > 0,
        ),
    ]
    if totals["rejects"]:
        found.append(Tile(totals["rejects"], "rejected input rows", "provenance"))
    return found


PANEL = Panel(title="Overview", position=10, build=build, queries={"insights": INSIGHTS})
