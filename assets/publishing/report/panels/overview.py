"""The overview: counts and insights."""

from __future__ import annotations

import polars as pl

from assets.publishing.report.panel import BenchmarkData, Content, Panel

INSIGHTS = """
SELECT i.benchmark, i.kind, i.evaluator, i.metric, i.system, i.question_id, i.value, i.message
FROM insights AS i
LEFT JOIN (
    SELECT benchmark, evaluator, metric, any_value(position) AS position
    FROM leaderboard
    WHERE benchmark IN ({benchmarks})
    GROUP BY ALL
) AS l USING (benchmark, evaluator, metric)
WHERE i.benchmark IN ({benchmarks})
QUALIFY row_number() OVER (
    PARTITION BY i.benchmark
    ORDER BY i.kind <> 'winner', l.position NULLS LAST, i.kind, i.system, i.question_id
) <= 500
ORDER BY i.kind <> 'winner', l.position NULLS LAST, i.kind, i.system, i.question_id
"""


def build(data: BenchmarkData, insights: pl.DataFrame) -> Content:
    """Return the counts and the insights."""
    primary = data.overall.filter(pl.col("is_primary") == 1)
    return Content(
        values={
            "totals": data.totals,
            "n_systems": len(data.systems),
            "n_lost": int((primary["n_parse_failure"] + primary["n_judge_error"]).sum()),
            "insights": insights.to_dicts(),
        }
    )


PANEL = Panel(title="Overview", position=10, build=build, queries={"insights": INSIGHTS})
