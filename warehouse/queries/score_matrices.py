"""The queries behind uncertainty: every number with its question, its cluster, and its slices.

Questions and clusters are named by DuckDB's 64-bit hash of their texts: a million numbers are
joined in a fraction of the time that a million texts take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.samples import Query
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Sequence


def score_values(benchmark: str, evaluator: str, signature: str) -> Query:
    """The numbers of one evaluator.

    Returns:
        A query with system, question (UBIGINT) and values (a list, one number a metric).
    """
    return Query(
        'SELECT system, hash(question_id) AS question, "values" FROM grades '
        "WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature",
        {"benchmark": benchmark, "evaluator": evaluator, "signature": signature},
    )


def has_clusters(benchmark: str) -> Query:
    """Whether any question names a cluster or perturbs another: a query with a row if so.

    The row has question and cluster like those of `clustered_questions`, both null.
    """
    return Query(
        "SELECT NULL::UBIGINT AS question, NULL::UBIGINT AS cluster FROM questions "
        "WHERE benchmark = $benchmark AND (perturbs IS NOT NULL OR cluster IS NOT NULL) LIMIT 1",
        {"benchmark": benchmark},
    )


def clustered_questions(benchmark: str, field: str) -> Query:
    """The cluster of each question; none at all where every question stands for itself.

    Questions with the same value of the field share a cluster, and so do a question and all that
    perturb it, directly or through others. A question without either is its own.

    Args:
        benchmark: The benchmark.
        field: A tag or question column, as for slices.

    Returns:
        A query with question and cluster (both UBIGINT).
    """
    statement = f"""
WITH RECURSIVE labels AS (
    {sql("labels")}
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
    -- A chain that does not end goes round in a circle, all of which is one cluster.
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
"""  # noqa: S608 - labels is a statement of this room
    return Query(statement, {"benchmark": benchmark, "slices": [field]})


def sliced_questions(benchmark: str, slices: Sequence[str]) -> Query:
    """The slices that each question belongs to, apart from `all`.

    Returns:
        A query with slice and question (UBIGINT).
    """
    statement = f"SELECT slice, hash(question_id) AS question FROM ({sql('labels')})"  # noqa: S608
    return Query(statement, {"benchmark": benchmark, "slices": list(slices)})
