"""Language mismatch: first subtags, requests for another language, what has no language."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators.catalog import build
from tests.support.scripted_judge import in_turn, judged, values

NAME = "language_mismatch"
ROW = {"question": "How old is the harbour?", "answer": "Très vieux."}


def reply(
    question: str, text: str, requested: str | None = None, *, same: bool = True
) -> dict[str, Any]:
    return {
        "reasoning": "r",
        "question_language": question,
        "text_language": text,
        "requested_language": requested,
        "same_language": same,
    }


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        (reply("en", "en"), 1),  # golden
        (reply("en", "fr", same=False), 0),  # golden
        (reply("en-GB", "en-US"), 1),
        (reply("EN", "en"), 1),
        (reply("zh-Hans", "zh-Hant-TW"), 1),
        (reply("en", "fr", "fr", same=False), 0),  # as in the source: the request is not looked at
    ],
)
def test_same_first_subtag(said: dict[str, Any], passes: float) -> None:
    found = values(judged(build(NAME), ROW, in_turn(said)))
    assert (found["passes"], found["generation_failures"]) == (passes, 1 - passes)


@pytest.mark.parametrize(
    "said",
    [
        reply("en", "fr", same=True),  # golden
        reply("en", "en-US", same=False),
        reply("English", "english"),
        reply("en", ""),
        reply("en", "en", "in French"),
    ],
)
def test_contradictions_and_what_is_no_tag_are_parse_failures(said: dict[str, Any]) -> None:
    found = values(judged(build(NAME), ROW, in_turn(said)))
    assert (found["passes"], found["parse_failures"]) == (None, 1)


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("tags", [("und", "en"), ("en", "und"), ("und", "und")])
def test_an_undetermined_language_passes(tags: tuple[str, str], same: bool) -> None:
    rows = judged(build(NAME), ROW, in_turn(reply(*tags, same=same)))
    assert values(rows)["passes"] == 1
    assert rows[0]["reason"] == "language_undetermined"


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        (reply("en", "fr", "fr", same=False), 1),
        (reply("en", "fr-CA", "fr-FR", same=False), 1),
        (reply("en", "en", "fr"), 0),
        (reply("en", "fr", same=False), 0),
        (reply("en", "en"), 1),
    ],
)
def test_a_request_may_be_respected(said: dict[str, Any], passes: float) -> None:
    rows = judged(build(NAME, {"respect_request": True}), ROW, in_turn(said))
    assert values(rows)["passes"] == passes
    detail = json.loads(rows[0]["detail"])["answer"]
    assert detail["requested_language"] == said["requested_language"]


def test_a_blank_answer_is_in_no_language_and_a_blank_question_asks_nothing() -> None:
    rows = judged(build(NAME), {**ROW, "answer": " "}, in_turn())
    found = {row["metric"]: row["status"] for row in rows}
    assert found.pop("parse_failures") == "scored"
    assert set(found.values()) == {"undefined"}
    rows = judged(build(NAME), {**ROW, "question": " "}, in_turn())
    assert {row["status"] for row in rows} == {"not_applicable"}


def test_the_context_is_compared_with_the_question() -> None:
    evaluator = build(NAME, {"evaluate_retrieved_context": True})
    row = {**ROW, "contexts": ["Der Hafen", "ist alt."]}
    replies = in_turn(reply("en", "en"), reply("en", "de", same=False))
    found = values(judged(evaluator, row, replies))
    assert (found["passes"], found["retrieval_failures"], found["generation_failures"]) == (0, 1, 0)
    shown = replies.asked[1][0].prompt.material
    assert ROW["question"] in shown
    assert "Der Hafen\nist alt." in shown


def test_a_system_that_failed_fails() -> None:
    rows = judged(build(NAME), {**ROW, "error": "timeout"}, in_turn())
    assert values(rows)["passes"] == 0
    assert rows[0]["reason"] == "target_error"
