"""Queries that aggregate scores for leaderboards."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from warehouse.queries.benchmarks import fill_in
from warehouse.queries.samples import EVERY_ANSWER, Query
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Sequence


Pair: TypeAlias = tuple[str, str]
"""A benchmark with an evaluator, a metric or a column."""


def aggregate_scores(benchmarks: Sequence[str], slices: Sequence[str], places: int) -> Query:
    """Select counts, sums and means of the scores of benchmarks.

    Args:
        benchmarks: The benchmarks.
        slices: Tags or question columns; the slice `all` is always included.
        places: The largest number of metrics of an evaluator.

    Returns:
        A query with one row for each benchmark, slice, system, evaluator, metric and signature:
        mean (null without a scored sample), n, and the number of samples of each status.
    """
    sums = ", ".join(f'fsum("values"[{place}])' for place in range(1, places + 1))
    statement = fill_in(sql("aggregate").replace("{sums}", f"[{sums}]"), benchmarks)
    return Query(statement, {"slices": list(slices)})


def partly_lost_scores(benchmarks: Sequence[str], slices: Sequence[str]) -> Query:
    """Select what lost and failed answers mean for scores of several answers to a question.

    Returns:
        A query with benchmark, slice, system, evaluator, metric, signature; sum_below and
        sum_above, by how much the sum of the scores could be lower and higher with lost answers;
        and n_partly_failed, the questions with a score of which some answers failed.
    """
    statement = """
WITH labels AS (
    {labels}
),

several AS (
    SELECT
        * EXCLUDE (statuses, reasons),
        coalesce(statuses, []) AS statuses,
        coalesce(reasons, []) AS reasons
    FROM grades
    WHERE benchmark IN ({benchmarks}) AND n_answers IS NOT NULL
),

members AS (
    SELECT 'all' AS slice, * FROM several
    UNION ALL BY NAME
    SELECT * FROM labels JOIN several USING (benchmark, question_id)
),

placed AS (
    SELECT *, unnest(range(1, len("values") + 1)) AS place FROM members
)

SELECT
    p.benchmark,
    p.slice,
    p.system,
    p.evaluator,
    s.metrics[p.place] AS metric,
    p.signature,
    coalesce(fsum(p.values_low[p.place] - p."values"[p.place]), 0.0) AS sum_below,
    coalesce(fsum(p.values_high[p.place] - p."values"[p.place]), 0.0) AS sum_above,
    count(*) FILTER (
        p.has_failed[p.place]
        AND p."values"[p.place] IS NOT NULL
        AND p.reasons[p.place] IS DISTINCT FROM 'target_error'
    ) AS n_partly_failed
FROM placed AS p
JOIN signatures AS s USING (evaluator, signature)
WHERE p.place <= len(s.metrics)
GROUP BY ALL
"""
    return Query(fill_in(statement, benchmarks), {"slices": list(slices)})


def scored_samples(
    benchmarks: Sequence[str], evaluator: str, signature: str, slices: Sequence[str]
) -> Query:
    """Select the scores of one evaluator by answer, repeated for each slice of the question.

    Args:
        benchmarks: The benchmarks.
        evaluator: The evaluator's name.
        signature: The signature of the scores.
        slices: Tags or question columns; the slice `all` is always included.

    Returns:
        A query with benchmark, slice, system, question (a hash), values, statuses, reasons, detail.
    """
    statement = """
WITH graded AS (
    SELECT benchmark, system, question_id, "values", statuses, reasons, detail
    FROM {grades}
    WHERE benchmark IN ({benchmarks}) AND evaluator = $evaluator AND signature = $signature
),

labels AS (
    {labels}
),

members AS (
    SELECT 'all' AS slice, * FROM graded
    UNION ALL BY NAME
    SELECT * FROM labels JOIN graded USING (benchmark, question_id)
)

SELECT benchmark, slice, system, hash(question_id) AS question, "values", statuses, reasons, detail
FROM members
"""
    parameters = {"evaluator": evaluator, "signature": signature, "slices": list(slices)}
    filled = fill_in(statement.replace("{grades}", EVERY_ANSWER), benchmarks)
    return Query(filled, parameters)


def clear_gated_rows(benchmarks: Sequence[str]) -> Query:
    """Return the statement that removes the verdicts of the gates from the leaderboard."""
    statement = """
UPDATE leaderboard SET gate = NULL WHERE benchmark IN ({benchmarks}) AND gate IS NOT NULL
"""
    return Query(fill_in(statement, benchmarks), {})


def mark_gated_rows(benchmarks: Sequence[str]) -> Query:
    """Return the statement that writes the verdicts of the gates into the leaderboard."""
    statement = """
UPDATE leaderboard
SET gate = verdicts.gate
FROM (
    SELECT benchmark, system, evaluator, metric,
        CASE min(passed) WHEN 1 THEN 'passed' ELSE 'failed' END AS gate
    FROM gates
    WHERE benchmark IN ({benchmarks})
    GROUP BY ALL
) AS verdicts
WHERE leaderboard.benchmark = verdicts.benchmark
    AND leaderboard.system = verdicts.system
    AND leaderboard.evaluator = verdicts.evaluator
    AND leaderboard.metric = verdicts.metric
"""
    return Query(fill_in(statement, benchmarks), {})
