"""Queries for score matrices: scores with their questions, clusters and slices.

Questions and clusters are identified by DuckDB's 64-bit hash of their ids, which joins much faster
than text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.benchmarks import fill_in
from warehouse.queries.samples import Query

if TYPE_CHECKING:
    from collections.abc import Sequence


def score_values(benchmarks: Sequence[str], evaluator: str, signature: str) -> Query:
    """Select the scores of one evaluator.

    Returns:
        A query with benchmark, system, question (UBIGINT), values (a list, one score for each
        metric) and failed (a list, whether the score stands for a failed answer; null where there
        is nothing to remark on any score).
    """
    statement = (
        'SELECT benchmark, system, hash(question_id) AS question, "values", '
        "list_transform(reasons, lambda r: coalesce(r = 'target_error', false)) AS failed "
        "FROM grades WHERE benchmark IN ({benchmarks}) AND evaluator = $evaluator "
        "AND signature = $signature"
    )
    return Query(fill_in(statement, benchmarks), {"evaluator": evaluator, "signature": signature})


def answer_values(benchmark: str, evaluator: str, signature: str) -> Query:
    """Select the scores of single answers, where questions have several.

    Returns:
        A query with system, question (UBIGINT), repeat, values (a list, one score for each
        metric), replicates (a JSON list of what the judge gave the answer each time by the primary
        metric) and members (a JSON object: what the members of a panel gave it, by metric); both
        are null if there are none.
    """
    return Query(
        'SELECT system, hash(question_id) AS question, repeat, "values", '
        "(detail -> '$.replicates')::VARCHAR AS replicates, "
        "(detail -> '$.panel.values')::VARCHAR AS members FROM answer_grades "
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature "
        "ORDER BY system, question, repeat",
        {"benchmark": benchmark, "evaluator": evaluator, "signature": signature},
    )


def questions_not_asked(benchmark: str) -> Query:
    """Select the questions that systems were not asked: system and question (UBIGINT)."""
    statement = """
SELECT system, hash(question_id) AS question
FROM predictions
ANTI JOIN (
    SELECT system, question_id
    FROM predictions
    WHERE benchmark = $benchmark AND repeat > 0 AND not_asked IS NULL
) AS asked_again USING (system, question_id)
WHERE benchmark = $benchmark AND repeat = 0 AND not_asked = 1
"""
    return Query(statement, {"benchmark": benchmark})


def clustered_benchmarks(benchmarks: Sequence[str]) -> Query:
    """Select the benchmarks in which a question has a cluster or perturbs another: benchmark."""
    statement = (
        "SELECT DISTINCT benchmark FROM questions WHERE benchmark IN ({benchmarks}) "
        "AND (perturbs IS NOT NULL OR cluster IS NOT NULL)"
    )
    return Query(fill_in(statement, benchmarks), {})


def clustered_questions(benchmark: str, field: str) -> Query:
    """Select the cluster of each question; no rows if all questions are independent.

    Questions with the same value of the field share a cluster, and so do a question and its direct
    and indirect variants. Any other question is a cluster of its own.

    Args:
        benchmark: The benchmark.
        field: A tag or question column, as for slices.

    Returns:
        A query with question and cluster (both UBIGINT).
    """
    statement = """
WITH RECURSIVE labels AS (
    {labels}
),

variants AS (
    SELECT question_id, perturbs
    FROM questions
    WHERE benchmark = $benchmark AND perturbs IS NOT NULL
),

chains AS (
    SELECT question_id, perturbs AS original, 1 AS depth FROM variants
    UNION ALL
    SELECT c.question_id, v.perturbs, c.depth + 1
    FROM chains AS c
    JOIN variants AS v ON v.question_id = c.original
    WHERE c.depth < 100
),

originals AS (
    -- A chain without an end is a cycle, which is one cluster.
    SELECT question_id, CASE
        WHEN max(depth) < 100 THEN arg_max(original, depth)
        ELSE min(original) FILTER (depth > 50)
    END AS original
    FROM chains
    GROUP BY question_id
)

SELECT
    hash(q.question_id) AS question,
    hash(coalesce(l.slice, 'question=' || coalesce(o.original, q.question_id))) AS cluster
FROM questions AS q
LEFT JOIN originals AS o USING (question_id)
LEFT JOIN labels AS l ON l.question_id = coalesce(o.original, q.question_id)
WHERE q.benchmark = $benchmark
  AND (EXISTS (SELECT 1 FROM labels) OR EXISTS (SELECT 1 FROM originals))
"""
    parameters = {"benchmark": benchmark, "slices": [field]}
    return Query(fill_in(statement, [benchmark]), parameters)


def sliced_questions(benchmarks: Sequence[str], slices: Sequence[str]) -> Query:
    """Select the slices of each question without `all`.

    Returns:
        A query with benchmark, slice and question (UBIGINT).
    """
    statement = "SELECT benchmark, slice, hash(question_id) AS question FROM ({labels})"
    return Query(fill_in(statement, benchmarks), {"slices": list(slices)})
