"""Provenance: signatures, judge calls, digests of the data, and rejected input rows."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from assets.leaderboard.winner import join_names
from assets.publishing.report.formatting import NO_VALUE, format_time
from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    import polars as pl

JUDGE_CALLS = """
SELECT a.benchmark, a.evaluator, j.model,
    json_merge_patch(j.parameters, '{"origin": null}')::VARCHAR AS parameters, count(*) AS calls,
    count(*) FILTER (j.status = 'parse_failure') AS parse_failures,
    count(*) FILTER (j.status = 'judge_error') AS judge_errors,
    CAST(sum(j.tokens_in) + coalesce(sum(j.tokens_out), 0) AS BIGINT) AS tokens,
    sum(j.cost_usd) AS cost_usd, max(j.judged_at) AS last_at
FROM (
    SELECT DISTINCT benchmark, evaluator, digest FROM asks WHERE benchmark IN ({benchmarks})
) AS a
INNER JOIN judgments AS j USING (digest)
GROUP BY ALL
ORDER BY a.evaluator, j.model
"""

PANELS = """
SELECT benchmark, evaluator, metric, n, alpha, alpha_low, alpha_high,
    map_entries(agreement) AS agreement
FROM panel
WHERE benchmark IN ({benchmarks})
ORDER BY evaluator, metric
"""

STAGES = """
SELECT benchmark, stage, digest, marked_at
FROM marks
WHERE benchmark IN ({benchmarks})
ORDER BY stage
"""

REJECTS = """
SELECT benchmark, file, line, reason
FROM rejects
WHERE benchmark IN ({benchmarks})
QUALIFY row_number() OVER (PARTITION BY benchmark ORDER BY file, line) <= 100
ORDER BY file, line
"""


def build(
    data: BenchmarkData,
    judge_calls: pl.DataFrame,
    panels: pl.DataFrame,
    stages: pl.DataFrame,
    rejects: pl.DataFrame,
) -> Content:
    """Return how each evaluator was configured, and what it read."""
    evaluators = list(data.evaluators.values())
    order = {row["evaluator"]: at for at, row in enumerate(evaluators)}

    def in_order(rows: pl.DataFrame) -> list[dict[str, Any]]:
        return sorted(rows.to_dicts(), key=lambda row: order.get(row["evaluator"], len(order)))

    judged = {row["evaluator"] for row in evaluators if "|judge:" in row["signature"]}
    return Content(
        values={
            "evaluators": [describe_evaluator(row, judged) for row in evaluators],
            "judge_calls": in_order(judge_calls),
            "panels": in_order(panels),
            "stages": stages.to_dicts(),
            "rejects": rejects.to_dicts(),
            "n_rejects": data.totals["rejects"],
            "digest": data.digest,
            "version": version("scoreline"),
        }
    )


def describe_evaluator(row: dict[str, Any], judged: set[str]) -> dict[str, str]:
    """Return an evaluator's judge, prompts, times and runs as texts.

    Args:
        row: Its row in `BenchmarkData.evaluators`.
        judged: The evaluators that call a judge.
    """
    parts = [part.partition(":") for part in row["signature"].split("|")]
    judges = [value for key, _, value in parts if key == "judge"]
    judged_parts = [key for key, _, _ in parts[1:] if key in judged]
    prompts = [value for key, _, value in parts if key == "prompt"]
    runs = [run[:8] for run in row["run_ids"] or [] if run]
    first, last = format_time(row["first_at"]), format_time(row["last_at"])
    inherited = f"that of {join_names(judged_parts)}" if judged_parts else "not used"
    return {
        "name": row["evaluator"],
        "signature": row["signature"],
        "judge": ", ".join(judges) or inherited,
        "prompts": ", ".join(prompts) or "none",
        "scored": last if first == last else f"{first} to {last}",
        "runs": join_names(runs, 3) if runs else NO_VALUE,
    }


PANEL = Panel(
    title="Provenance",
    position=110,
    build=build,
    queries={
        "judge_calls": JUDGE_CALLS,
        "panels": PANELS,
        "stages": STAGES,
        "rejects": REJECTS,
    },
)
