"""The overview: counts, the best system of each primary metric, and insights."""

from __future__ import annotations

import polars as pl

from assets.publishing.report.formatting import format_number, isolate, join_names
from assets.publishing.report.panel import BenchmarkData, Content, Panel

MAX_SENTENCES = 8

INSIGHTS = """
SELECT kind, evaluator, metric, system, question_id, value, message
FROM insights
WHERE benchmark = $benchmark
ORDER BY evaluator, metric, kind, system, question_id
LIMIT 500
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
                for evaluator, metric in data.primary_metrics[:MAX_SENTENCES]
            ],
            "insights": insights.to_dicts(),
        }
    )


def describe_best(data: BenchmarkData, evaluator: str, metric: str) -> str:
    """Return a sentence that names the best systems by a metric and those tied with them."""
    rows = data.metric_rows(evaluator, metric).to_dicts()
    best = rows[0]
    value = format_number(best["mean"])
    if best["ci_low"] is not None:
        value += f", {format_number(best['ci_low'])} to {format_number(best['ci_high'])}"
    leaders = [isolate(row["system"]) for row in rows if row["rank"] == best["rank"]]
    others = rows[len(leaders) :]
    tied = [isolate(row["system"]) for row in others if row["tied_with_best"] == 1]
    is_tested = all(row["tied_with_best"] is not None for row in rows)
    start = f"{evaluator}.{metric}: {join_names(leaders)}"
    if len(rows) == 1:
        return f"{start} has {value}."
    start += f" share the first rank ({value})" if len(leaders) > 1 else f" ranks first ({value})"
    if tied:
        return f"{start}, but {join_names(tied)} cannot be distinguished from the best."
    if is_tested and len(leaders) == 1:
        return f"{start}, significantly ahead of all others."
    return f"{start}."


PANEL = Panel(title="Overview", position=10, build=build, queries={"insights": INSIGHTS})
