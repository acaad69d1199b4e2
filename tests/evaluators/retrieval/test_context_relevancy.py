"""Context relevancy: useful sentences by key, over all sentences of the context."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.outcome import JudgeError
from tests.support.scripted_judge import Scripted, in_turn, judged

QUESTION = "When does the ferry leave?"
SEVEN = [
    "The harbour is old. It has two piers. A café stands there.",
    "The ferry leaves at eight. On Sundays at nine.",
    "Tickets are sold on board. Dogs may come.",
]
FOUR = ["One is here. Two is here. Three is here. Four is here."]


def _judged(contexts: Any, *replies: Any) -> dict[str, Any]:
    keys = [{"reasoning": "r", "useful_keys": r} if isinstance(r, list) else r for r in replies]
    (row,) = judged(
        build("context_relevancy"), {"question": QUESTION, "contexts": contexts}, in_turn(*keys)
    )
    return row


@pytest.mark.parametrize(
    ("contexts", "keys", "value"),
    [
        (SEVEN, ["0a", "0b", "1a", "1b"], 4 / 7),  # the golden example of the specification
        (SEVEN, [], 0.0),
        (SEVEN, ["2b", "2b", "2b"], 1 / 7),
        (FOUR, ["0a", "0b", "0c", "0d", "0a"], 1.0),
        # One unknown key of six is under a fifth: dropped, counted, and never a gain.
        (SEVEN, ["0a", "0b", "0c", "1a", "1b", "9z"], 5 / 7),
    ],
)
def test_share_of_useful_sentences(contexts: list[str], keys: list[str], value: float) -> None:
    row = _judged(contexts, keys)
    assert (row["status"], row["value"]) == ("scored", pytest.approx(value))


def test_too_many_unknown_keys_are_a_parse_failure() -> None:
    row = _judged(FOUR, ["0a", "0a", "9z"])
    assert (row["status"], row["value"]) == ("parse_failure", None)
    assert "9z" in row["reason"]


@pytest.mark.parametrize("contexts", [[], [""], ["  ", "\n"]])
def test_nothing_retrieved_is_worth_nothing_and_asks_nothing(contexts: list[str]) -> None:
    row = _judged(contexts)
    assert (row["value"], row["reason"]) == (0.0, "no_context")


def test_a_system_that_never_retrieves_is_not_measured() -> None:
    assert _judged(None)["status"] == "not_applicable"


def test_a_judge_error_gives_no_score() -> None:
    row = _judged(FOUR, JudgeError("timed out"))
    assert (row["status"], row["value"], row["reason"]) == ("judge_error", None, "timed out")


def test_the_flow_shows_question_and_numbered_sentences() -> None:
    judge = Scripted(lambda _: {"reasoning": "", "useful_keys": []})
    judged(build("context_relevancy"), {"question": QUESTION, "contexts": SEVEN}, judge)
    ((asked, _),) = judge.asked
    material = asked.prompt.material
    assert QUESTION in material
    assert "[1a] The ferry leaves at eight." in material
