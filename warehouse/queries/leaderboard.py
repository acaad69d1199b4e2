"""Queries that aggregate scores and find problems and insights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.queries.samples import Query
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Sequence


def aggregate_scores(benchmark: str, slices: Sequence[str], places: int) -> Query:
    """Select counts, sums and means of a benchmark's scores.

    Args:
        benchmark: The benchmark.
        slices: Tags or question columns; the slice `all` is always included.
        places: The largest number of metrics of an evaluator.

    Returns:
        A query with one row for each slice, system, evaluator, metric and signature: mean (null
        without a scored sample), n, and the number of samples of each status.
    """
    sums = ", ".join(f'fsum("values"[{place}])' for place in range(1, places + 1))
    statement = sql("aggregate").replace("{labels}", sql("labels")).replace("{sums}", f"[{sums}]")
    return Query(statement, {"benchmark": benchmark, "slices": list(slices)})


def scored_samples(benchmark: str, evaluator: str, signature: str, slices: Sequence[str]) -> Query:
    """Select the scores of one evaluator, repeated for each slice of the question.

    Args:
        benchmark: The benchmark.
        evaluator: The evaluator's name.
        signature: The signature of the scores.
        slices: Tags or question columns; the slice `all` is always included.

    Returns:
        A query with slice, system, question (a hash), values, statuses, reasons, detail.
    """
    statement = f"""
WITH graded AS (
    SELECT system, question_id, "values", statuses, reasons, detail
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

SELECT slice, system, hash(question_id) AS question, "values", statuses, reasons, detail
FROM members
"""  # noqa: S608 - labels is a statement of this package
    parameters = {
        "benchmark": benchmark,
        "evaluator": evaluator,
        "signature": signature,
        "slices": list(slices),
    }
    return Query(statement, parameters)


def mark_gated_rows(benchmark: str) -> Query:
    """Return the statement that writes the verdicts of the gates into the leaderboard."""
    return Query(
        """
UPDATE leaderboard
SET gate = verdicts.gate
FROM (
    SELECT system, evaluator, metric,
        CASE min(passed) WHEN 1 THEN 'passed' ELSE 'failed' END AS gate
    FROM gates
    WHERE benchmark = $benchmark
    GROUP BY ALL
) AS verdicts
WHERE leaderboard.benchmark = $benchmark
    AND leaderboard.system = verdicts.system
    AND leaderboard.evaluator = verdicts.evaluator
    AND leaderboard.metric = verdicts.metric
""",
        {"benchmark": benchmark},
    )


def find_problems(
    benchmark: str,
    judged: Sequence[str],
    calibrated: Sequence[str],
    leaking: Sequence[str],
    named: Sequence[str],
    few: int,
    very_few: int,
) -> Query:
    """Select the problems of a benchmark, the worst first.

    Args:
        benchmark: The benchmark.
        judged: The evaluators that use a judge model.
        calibrated: Those whose judge agrees with human labels.
        leaking: The evaluators that detect leaks.
        named: The metrics, such as `citation.f1`, whose threshold the configuration sets by name.
        few: The number of independent questions that an interval needs.
        very_few: The number of them below which scores that are not passes or failures cannot miss
            a threshold significantly.

    Returns:
        A query with the columns of the table `problems`.
    """
    lists = {"judged": judged, "calibrated": calibrated, "leaking": leaking, "named": named}
    parameters = {name: list(each) for name, each in lists.items()}
    limits = {"few": few, "very_few": very_few}
    return Query(sql("problems"), {"benchmark": benchmark, **limits, **parameters})


def find_insights(benchmark: str, retrieving: Sequence[str]) -> Query:
    """Select the insights of a benchmark.

    Args:
        benchmark: The benchmark.
        retrieving: The evaluators of retrieval.

    Returns:
        A query with the columns of the table `insights`.
    """
    return Query(sql("insights"), {"benchmark": benchmark, "retrieving": list(retrieving)})
