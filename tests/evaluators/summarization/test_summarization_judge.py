"""Summarization by judge: the overall verdict counts, the four respects explain it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators.catalog import build
from tests.support.scripted_judge import Scripted, in_turn, judged, values

NAME = "summarization_judge"
ROW = {
    "question": "A long text about a harbour.",
    "answer": "It is about a harbour.",
    "expected_answers": ["A harbour is described.", " ", "Of a\nharbour."],
}


def reply(*, good: bool = True, **respects: bool) -> dict[str, Any]:
    met = dict.fromkeys(["comprehensive", "concise", "coherent", "self_contained"], True)
    return {"reasoning": "r", **met, **respects, "good_summary": good}


@pytest.mark.parametrize(
    ("said", "passes", "reason"),
    [
        (reply(), 1, None),  # golden
        (reply(comprehensive=False), 1, "criteria_conflict"),  # golden
        (reply(good=False), 0, "criteria_conflict"),
        (reply(good=False, concise=False), 0, None),
    ],
)
def test_the_overall_verdict_counts(said: Any, passes: float, reason: str | None) -> None:
    rows = judged(build(NAME), ROW, in_turn(said))
    found = values(rows)
    assert (found["passes"], found["failures"], rows[0]["reason"]) == (passes, 1 - passes, reason)
    assert found["retrieval_failures"] is None
    criteria = json.loads(rows[0]["detail"])["answer"]["criteria"]
    assert criteria == {name: said[name] for name in criteria}
    assert len(criteria) == 4


def test_the_judge_sees_every_reference_and_not_the_question() -> None:
    judge = Scripted(lambda _: reply())
    judged(build(NAME), ROW, judge)
    shown = judge.asked[0][0].prompt.material
    assert "[r1] A harbour is described.\n[r2] Of a harbour.\n" in shown
    assert ROW["answer"] in shown
    assert "long text" not in shown


def test_the_source_may_take_the_place_of_the_reference() -> None:
    judge = Scripted(lambda _: reply())
    evaluator = build(NAME, {"compare_with": "source"})
    row = {"question": ROW["question"], "answer": ROW["answer"]}
    assert values(judged(evaluator, row, judge))["passes"] == 1
    assert "long text" in judge.asked[0][0].prompt.material
    for question in (None, " "):
        rows = judged(evaluator, {**ROW, "question": question}, in_turn())
        assert {row["reason"] for row in rows} == {"no question"}


def test_edges() -> None:
    blank = judged(build(NAME), {**ROW, "answer": "\n"}, in_turn())
    assert (values(blank)["passes"], blank[0]["reason"]) == (0, "empty_answer")
    for references in (None, [], [" "]):
        rows = judged(build(NAME), {**ROW, "expected_answers": references}, in_turn())
        assert {row["status"] for row in rows} == {"not_applicable"}
    failed = judged(build(NAME), {**ROW, "error": "timeout"}, in_turn())
    assert (values(failed)["passes"], failed[0]["reason"]) == (0, "target_error")
    torn = values(judged(build(NAME), ROW, in_turn({**reply(), "concise": "yes"})))
    assert (torn["passes"], torn["parse_failures"]) == (None, 1)


CONTEXT = build(NAME, {"evaluate_retrieved_context": True})
WITH_CONTEXTS = {**ROW, "contexts": ["A harbour,", None, "with ships."]}


@pytest.mark.parametrize(
    ("answer", "context", "expected"),
    [
        (True, True, (1, 0, 0, 0)),
        (True, False, (0, 1, 1, 0)),
        (False, True, (0, 1, 0, 1)),
        (False, False, (0, 1, 1, 1)),
    ],
)
def test_the_retrieved_summary_must_be_good_as_well(
    answer: bool, context: bool, expected: tuple[int, ...]
) -> None:
    judge = in_turn(reply(good=answer), reply(good=context))
    rows = judged(CONTEXT, WITH_CONTEXTS, judge)
    found = values(rows)
    names = ("passes", "failures", "retrieval_failures", "generation_failures")
    assert tuple(found[name] for name in names) == expected
    assert "A harbour,\nwith ships." in judge.asked[1][0].prompt.material
    assert ROW["answer"] not in judge.asked[1][0].prompt.material
    assert set(json.loads(rows[0]["detail"])) == {"answer", "context"}


def test_without_a_retrieved_summary_only_the_answer_counts() -> None:
    for contexts in (None, [], [" "]):
        found = values(judged(CONTEXT, {**ROW, "contexts": contexts}, in_turn(reply())))
        assert (found["passes"], found["retrieval_failures"]) == (1, None)
    blank = values(judged(CONTEXT, {**WITH_CONTEXTS, "answer": ""}, in_turn(reply())))
    assert (blank["passes"], blank["retrieval_failures"]) == (0, 0)
