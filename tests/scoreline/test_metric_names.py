"""An own metric may have the name of any field; it never collides with a column."""

from __future__ import annotations

from typing import Any

import pytest

import scoreline
from evaluators.errors import EvaluatorError
from tests.support.services import takes_minutes

NAMES = (
    *("extra", "tags", "answer", "error", "label", "question_id", "system", "benchmark"),
    *("failed", "status", "reason", "values", "row", "absent", "repeat", "input_digest"),
    *("noteworthy", "slice", "mean", "rank", "n", "all", "metric", "evaluator", "value"),
)


def metric_named(name: str) -> Any:
    source = (
        f"def {name}(answer, extra, tags):\n"
        f"    return 0.0 if answer == 'wrong' else float(tags['{name}'] == 'x')\n"
    )
    scope: dict[str, Any] = {"__name__": __name__}
    exec(source, scope)  # noqa: S102 - a function of each name
    return scoreline.metric(scope[name])


@takes_minutes
def test_every_name_at_once() -> None:
    """As a metric, a tag, an unknown field and a system; two answers to a question are equal."""
    questions = [
        {"question_id": at, "tags": dict.fromkeys(NAMES, "x"), "n": 1, "mean": 2} for at in "abc"
    ]
    answers = [
        {"question_id": "a", "answer": "right", "failed": "f", "values": [1]},
        {"question_id": "b", "answer": "right"},
        {"question_id": "c", "error": "timed out"},
    ]
    results = scoreline.evaluate(
        questions,
        {"failed": answers, "all": answers},
        evaluators=[metric_named(name) for name in NAMES],
        slices=["failed", "n"],
    )
    board = results.leaderboard.filter(slice="all")
    assert sorted(set(board["metric"])) == sorted(NAMES)
    assert set(board["mean"]) == {2 / 3}
    assert set(results.leaderboard["slice"]) >= {"all", "failed=x"}


def test_the_name_of_the_evidence_is_refused() -> None:
    with pytest.raises(EvaluatorError, match="metric 'detail': this is the name of a column"):
        metric_named("detail")
