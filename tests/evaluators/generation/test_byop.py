"""BYOP: the template's placeholders and nothing else, and replies in a form or in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.flows.reply import PlainReply
from tests.judges import Scripted, in_turn, judged, values

ROW = {
    "question": "Why {ACTUAL_OUTPUT}?",
    "expected_answers": ["Because.", "Just so."],
    "answer": 'It is {"a": 1}, {INPUT}.',
    "contexts": ["First.", "Second."],
}
EVERYTHING = '{INPUT} {EXPECTED_OUTPUT} {ACTUAL_OUTPUT} {CONTEXT} {other} {"json": {}} {input}'


def byop(template: str = "Is {ACTUAL_OUTPUT} polite?", mode: str = "structured") -> Any:
    return build("byop", {"prompt_template": template, "mode": mode})


@pytest.mark.parametrize("verdict", [True, False])
def test_true_passes(verdict: bool) -> None:
    found = values(judged(byop(), ROW, in_turn({"reasoning": "r", "verdict": verdict})))
    assert (found["passes"], found["generation_failures"]) == (verdict, not verdict)
    assert (found["retrieval_failures"], found["parse_failures"]) == (None, 0)


@pytest.mark.parametrize("mode", ["structured", "raw"])
def test_four_placeholders_are_replaced_once_and_nothing_else_is(mode: str) -> None:
    said = {"structured": {"reasoning": "r", "verdict": True}, "raw": {"text": "true"}}
    judge = in_turn(said[mode])
    judged(byop(EVERYTHING, mode), ROW, judge)
    ((asked, _),) = judge.asked
    system, user = asked.prompt.messages(asked.reply)
    shown = user["content"]
    for text in ("Why {ACTUAL_OUTPUT}?", "Because.\nJust so.", "First.\nSecond.", ROW["answer"]):
        assert shown.count(str(text)) == 1
    assert shown.count("<<actual_output ") == shown.count("<</actual_output ") == 1
    assert shown.endswith('>> {other} {"json": {}} {input}')
    assert "Because" not in system["content"]


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        ("True.", 1),  # golden
        ("false", 0),  # golden
        ("  TRUE \n", 1),
        ('"true."', 1),
        ("'False'.", 0),
        ("`true`", 1),
        ("```\nfalse\n```", 0),
        ("```text\nTrue.\n```", 1),
        ("\N{LEFT DOUBLE QUOTATION MARK}true\N{RIGHT DOUBLE QUOTATION MARK}", 1),
        ("true, because it is", None),  # golden
        ("not true", None),
        ("truefalse", None),
        ("true false", None),
        ("yes", None),
        ("1", None),
        ("", None),
        ('{"verdict": true}', None),
    ],
)
def test_a_raw_reply_is_true_or_false_and_nothing_else(said: str, passes: float | None) -> None:
    found = values(judged(byop(mode="raw"), ROW, in_turn({"text": said})))
    assert (found["passes"], found["parse_failures"]) == (passes, float(passes is None))


def test_a_raw_prompt_says_nothing_about_the_form_of_the_reply() -> None:
    judge = in_turn({"text": "true"})
    judged(byop("Say true: {ACTUAL_OUTPUT}", "raw"), ROW, judge)
    ((asked, _),) = judge.asked
    system, user = asked.prompt.messages(PlainReply)
    assert asked.reply is PlainReply
    assert "JSON" not in system["content"]
    assert user["content"].startswith("Say true: <<actual_output ")
    assert PlainReply.schema_of() == {}


@pytest.mark.parametrize(
    ("template", "column"),
    [
        ("{INPUT}", "question"),
        ("{EXPECTED_OUTPUT}", "expected_answers"),
        ("{ACTUAL_OUTPUT}", "answer"),
        ("{CONTEXT}", "contexts"),
    ],
)
def test_what_the_template_asks_for_is_needed_and_nothing_else(template: str, column: str) -> None:
    judge = Scripted(lambda _: {"reasoning": "r", "verdict": True})
    only = values(judged(byop(template), {column: ROW[column]}, judge))
    assert only["passes"] == 1
    rows = judged(byop(template), {**ROW, column: None}, in_turn())
    assert {row["reason"] for row in rows} == {f"no {column}"}


def test_blank_references_are_none_and_a_blank_answer_is_judged() -> None:
    rows = judged(byop("{EXPECTED_OUTPUT}"), {**ROW, "expected_answers": [" "]}, in_turn())
    assert {row["status"] for row in rows} == {"not_applicable"}
    judge = in_turn({"reasoning": "r", "verdict": False})
    assert values(judged(byop(), {"answer": ""}, judge))["passes"] == 0


@pytest.mark.parametrize("template", ["", "Is it polite?", "{input}", "{ INPUT }"])
def test_a_template_without_a_placeholder_is_refused(template: str) -> None:
    with pytest.raises(BadParameters, match=r"at least one of \{INPUT\}"):
        byop(template)


def test_template_and_mode_are_part_of_the_signature() -> None:
    signatures = {byop().signature, byop("{INPUT}").signature, byop(mode="raw").signature}
    assert len(signatures) == 3


def test_a_system_that_failed_fails() -> None:
    rows = judged(byop(), {**ROW, "error": "timeout"}, in_turn())
    assert (values(rows)["passes"], rows[0]["reason"]) == (0, "target_error")
