"""The queries from which leaderboards are folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.samples import Query
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Sequence


def aggregate_scores(benchmark: str, slices: Sequence[str], places: int) -> Query:
    """Counts, sums and means of a benchmark's scores.

    Args:
        benchmark: The benchmark.
        slices: Tags or question columns; the slice `all` is always there.
        places: The metrics of the evaluator that has most; what others have beyond is left out.

    Returns:
        A query with one row a slice, system, evaluator, metric and signature: mean (null without
        a scored sample), n, and the number of samples of each status.
    """
    sums = ", ".join(f'fsum("values"[{place}])' for place in range(1, places + 1))
    statement = sql("fold").replace("{labels}", sql("labels")).replace("{sums}", f"[{sums}]")
    return Query(statement, {"benchmark": benchmark, "slices": list(slices)})


def scored_samples(benchmark: str, evaluator: str, signature: str, slices: Sequence[str]) -> Query:
    """The grades of one evaluator, repeated for each slice that the question belongs to.

    Args:
        benchmark: The benchmark.
        evaluator: The evaluator's name.
        signature: Only grades of this signature.
        slices: Tags or question columns; the slice `all` is always there.

    Returns:
        A query with slice, system, question (a hash), values, statuses, detail.
    """
    statement = f"""
WITH graded AS (
    SELECT system, question_id, "values", statuses, detail
    FROM grades
    WHERE benchmark = $benchmark AND evaluator = $evaluator AND signature = $signature
),

labels AS (
    {sql("labels")}
),

members AS (
    SELECT 'all' AS slice, * FROM graded
    UNION ALL BY NAME
    SELECT * FROM labels JOIN graded USING (question_id)
)

SELECT slice, system, hash(question_id) AS question, "values", statuses, detail
FROM members
"""  # noqa: S608 - labels is a statement of this room
    parameters = {
        "benchmark": benchmark,
        "evaluator": evaluator,
        "signature": signature,
        "slices": list(slices),
    }
    return Query(statement, parameters)


def find_problems(
    benchmark: str,
    judged: Sequence[str],
    calibrated: Sequence[str],
    leaking: Sequence[str],
    few: int,
) -> Query:
    """What somebody should look at, worst first.

    Args:
        benchmark: The benchmark.
        judged: The evaluators that a judge model answers.
        calibrated: Those of them whose judge agrees with people's labels.
        leaking: The evaluators that look for what an answer must not give away.
        few: The independent questions that a sound interval needs.

    Returns:
        A query with the columns of the table `problems`.
    """
    named = {"judged": list(judged), "calibrated": list(calibrated), "leaking": list(leaking)}
    return Query(sql("problems"), {"benchmark": benchmark, "few": few, **named})


def find_insights(benchmark: str, retrieving: Sequence[str]) -> Query:
    """What the scores tell as a whole.

    Args:
        benchmark: The benchmark.
        retrieving: The evaluators of retrieval.

    Returns:
        A query with the columns of the table `insights`.
    """
    return Query(sql("insights"), {"benchmark": benchmark, "retrieving": list(retrieving)})
