"""The overview: counts, the winner by each primary metric if there is one, and insights."""

from __future__ import annotations

import polars as pl

from assets.leaderboard.winner import describe_winner, join_names
from assets.publishing.report.formatting import format_number, isolate
from assets.publishing.report.panel import BenchmarkData, Content, Panel

MAX_SENTENCES = 8

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
    """Return the counts, a sentence per primary metric, and the insights."""
    primary = data.overall.filter(pl.col("is_primary") == 1)
    return Content(
        values={
            "totals": data.totals,
            "n_systems": len(data.systems),
            "n_lost": int((primary["n_parse_failure"] + primary["n_judge_error"]).sum()),
            "sentences": [
                describe_best(data, evaluator, metric)
                for evaluator, metric in data.shown_metrics[:MAX_SENTENCES]
            ],
            "insights": insights.to_dicts(),
        }
    )


def describe_best(data: BenchmarkData, evaluator: str, metric: str) -> str:
    """Return the winner by a metric, or why there is none, and the best mean."""
    rows = data.metric_rows(evaluator, metric).to_dicts()
    best = rows[0]
    value = format_number(best["mean"])
    if best["ci_low"] is not None:
        value += f", {format_number(best['ci_low'])} to {format_number(best['ci_high'])}"
    leaders = join_names([isolate(row["system"]) for row in rows if row["rank"] == best["rank"]])
    winner = describe_winner(rows, isolate)
    start = f"{evaluator}.{metric}: {winner} " if winner else f"{evaluator}.{metric}: "
    return f"{start}Best mean: {leaders} with {value}."


PANEL = Panel(title="Overview", position=10, build=build, queries={"insights": INSIGHTS})
