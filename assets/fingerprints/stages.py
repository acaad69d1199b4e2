"""The stages of the pipeline by the names under which the warehouse marks them as done."""

from __future__ import annotations

QUESTIONS = "questions"
PREDICTIONS = "predictions"
LEADERBOARD = "leaderboard"


def scores(evaluator: str) -> str:
    """The stage that scores with one evaluator."""
    return f"scores/{evaluator}"


REPORT = "index.html"
"""The first page of the report, in the folder that a project publishes to."""
