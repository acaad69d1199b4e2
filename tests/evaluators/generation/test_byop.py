"""BYOP: the template's placeholders and nothing else, and replies in a form or in plain words."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.flows.reply import PlainReply
from evaluators.sample import Sample
from tests.support.scripted_judge import Scripted, in_turn, judged, values

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


def with_context(template: str = "Is {ACTUAL_OUTPUT} polite?", mode: str = "structured") -> Any:
    return build(
        "byop",
        {"prompt_template": template, "mode": mode, "evaluate_retrieved_context": True},
    )


@pytest.mark.parametrize("mode", ["structured", "raw"])
@pytest.mark.parametrize(
    ("answer", "context", "expected"),
    [
        (True, True, (1, 0, 0, 0)),
        (True, False, (0, 1, 1, 0)),
        (False, True, (0, 1, 0, 1)),
        (False, False, (0, 1, 1, 1)),
    ],
)
def test_passages_must_pass_the_same_check(
    mode: str, answer: bool, context: bool, expected: tuple[int, ...]
) -> None:
    said = [
        {"text": str(each)} if mode == "raw" else {"reasoning": "r", "verdict": each}
        for each in (answer, context)
    ]
    judge = in_turn(*said)
    found = values(judged(with_context(mode=mode), ROW, judge))
    names = ("passes", "failures", "retrieval_failures", "generation_failures")
    assert tuple(found[name] for name in names) == expected
    first, second = (request.prompt.messages(request.reply)[1] for request, _ in judge.asked)
    assert ROW["answer"] in first["content"]
    assert "First.\nSecond." in second["content"]
    assert ROW["answer"] not in second["content"]


def test_the_share_of_retrieval_failures_is_of_judged_contexts() -> None:
    """Ten samples, eight of them with a context, of which two fail (golden)."""
    rows = [
        {**ROW, "answer": "bad" if at < 3 else "good", "contexts": _context(at)} for at in range(10)
    ]
    judge = Scripted(
        lambda request: {
            "reasoning": "r",
            "verdict": "bad" not in request.prompt.messages(request.reply)[1]["content"],
        }
    )
    found = judged(with_context("Good? {ACTUAL_OUTPUT}"), rows, judge)
    shares = {}
    for name in ("passes", "failures", "retrieval_failures", "generation_failures"):
        scored = [row["value"] for row in found if row["metric"] == name]
        known = [value for value in scored if value is not None]
        shares[name] = (sum(known), len(known))
    assert shares == {
        "passes": (7, 10),
        "failures": (3, 10),
        "retrieval_failures": (2, 8),
        "generation_failures": (3, 10),
    }


def _context(at: int) -> list[str] | None:
    return None if at >= 8 else ["bad" if at < 2 else "fine"]


def test_an_unclear_verdict_on_the_passages_is_a_parse_failure() -> None:
    judge = in_turn({"text": "true"}, {"text": "perhaps"})
    found = values(judged(with_context(mode="raw"), ROW, judge))
    assert (found["passes"], found["parse_failures"]) == (None, 1)


def test_passages_need_a_place_in_the_template() -> None:
    with pytest.raises(BadParameters, match=r"\{ACTUAL_OUTPUT\} is needed with evaluate_"):
        with_context("Is {CONTEXT} polite?")


def test_calls_are_those_that_are_made() -> None:
    for contexts, calls in ((ROW["contexts"], 2), (None, 1), ([" "], 1)):
        judge = Scripted(lambda _: {"reasoning": "r", "verdict": True})
        judged(with_context(), {**ROW, "answer": "", "contexts": contexts}, judge)
        assert len(judge.asked) == calls


@pytest.mark.parametrize("contexts", [[], [""], [" ", "\n"]])
@pytest.mark.parametrize("also", [False, True])
def test_an_empty_context_is_not_judged(contexts: list[str], also: bool) -> None:
    template = "Does {ACTUAL_OUTPUT} follow from {CONTEXT}?"
    evaluator = build("byop", {"prompt_template": template, "evaluate_retrieved_context": also})
    judge = Scripted(lambda _: pytest.fail("asked"))
    row = {**ROW, "contexts": contexts}
    sample = Sample(benchmark="b", system="s", question_id="q", **row)
    rows = judged(evaluator, row, judge)
    found = {row["metric"]: (row["status"], row["reason"]) for row in rows}
    assert found["passes"] == ("undefined", "no_context: no passage has text")
    assert values(rows)["parse_failures"] == 0
    assert evaluator.expected_calls(sample) == 0
    # Without the placeholder, the passages do not matter.
    passes = in_turn({"reasoning": "r", "verdict": True})
    assert values(judged(byop(), {**ROW, "contexts": contexts}, passes))["passes"] == 1
