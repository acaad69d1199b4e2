"""The queries that tell problems and insights from a finished leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.samples import Query
from warehouse.sql import sql

if TYPE_CHECKING:
    from collections.abc import Sequence


def found_problems(
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


def found_insights(benchmark: str, retrieving: Sequence[str]) -> Query:
    """What the scores tell as a whole.

    Args:
        benchmark: The benchmark.
        retrieving: The evaluators of retrieval.

    Returns:
        A query with the columns of the table `insights`.
    """
    return Query(sql("insights"), {"benchmark": benchmark, "retrieving": list(retrieving)})
