"""The queries from which leaderboards are folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.samples import Query
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Sequence


def folded_scores(benchmark: str, slices: Sequence[str]) -> Query:
    """Counts, sums and means of a benchmark's scores.

    Args:
        benchmark: The benchmark.
        slices: Tags or question columns; the slice `all` is always there.

    Returns:
        A query with one row a slice, system, evaluator, metric and signature: mean (null without
        a scored sample), n, and the number of samples of each status.
    """
    statement = sql("fold").replace("{labels}", sql("labels"))
    return Query(statement, {"benchmark": benchmark, "slices": list(slices)})


def graded_samples(benchmark: str, evaluator: str, signature: str, slices: Sequence[str]) -> Query:
    """The grades of one evaluator, repeated for each slice that the question belongs to.

    Args:
        benchmark: The benchmark.
        evaluator: The evaluator's name.
        signature: Only grades of this signature.
        slices: Tags or question columns; the slice `all` is always there.

    Returns:
        A query with slice, system, question_id, values, statuses, detail.
    """
    statement = f"""
WITH members AS (
    SELECT 'all' AS slice, question_id FROM questions WHERE benchmark = $benchmark
    UNION ALL BY NAME
    {sql("labels")}
)
SELECT
    m.slice,
    g.system,
    g.question_id,
    hash(g.question_id) AS question,
    g."values",
    g.statuses,
    g.detail
FROM grades AS g
JOIN members AS m USING (question_id)
WHERE g.benchmark = $benchmark AND g.evaluator = $evaluator AND g.signature = $signature
"""  # noqa: S608 - both parts are statements of this room
    parameters = {
        "benchmark": benchmark,
        "evaluator": evaluator,
        "signature": signature,
        "slices": list(slices),
    }
    return Query(statement, parameters)
