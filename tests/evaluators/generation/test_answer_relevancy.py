"""Answer relevancy: the question against questions that the answer answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.sample import Sample
from tests.support.scripted_embeddings import Directions
from tests.support.scripted_judge import Scripted, by_form, in_turn, judged, values

SAMPLE = {"question": "When does the ferry leave?", "answer": "At eight."}
COSINES = (0.92, 0.88, 0.84)


def _one(number: int, *, evasive: bool) -> dict[str, Any]:
    return {"question": f"Question {number}?", "noncommittal": evasive}


def _questions(flags: str) -> list[dict[str, Any]]:
    return [_one(number, evasive=flag == "1") for number, flag in enumerate(flags)]


def _scored(
    judge: Scripted, cosines: Any = COSINES, parameters: Any = None, **change: Any
) -> list[dict[str, Any]]:
    near = {f"Question {number}?": cosine for number, cosine in enumerate(cosines)}
    evaluator = build("answer_relevancy", parameters or {})
    return judged(evaluator, SAMPLE | change, judge, embedding=Directions(near))


def _listed(flags: str) -> Scripted:
    return by_form(GeneratedQuestions={"questions": _questions(flags)})


@pytest.mark.parametrize(
    ("flags", "gate", "value"),
    [  # the golden examples of the specification
        ("000", "majority", 0.88),
        ("100", "any", 0.0),
        ("100", "all", 0.88),
        ("100", "majority", 0.88),
        ("110", "any", 0.0),
        ("110", "all", 0.88),
        ("110", "majority", 0.0),
        ("111", "all", 0.0),
        ("111", "none", 0.88),
    ],
)
@pytest.mark.parametrize("mode", ["list", "independent"])
def test_mean_similarity_behind_a_gate(flags: str, gate: str, value: float, mode: str) -> None:
    judge = _listed(flags) if mode == "list" else in_turn(*_questions(flags))
    found = values(_scored(judge, parameters={"gate": gate, "mode": mode}))
    assert found == pytest.approx(
        {"answer_relevancy": value, "answer_relevancy_ungated": 0.88}, abs=1e-6
    )
    assert len(judge.asked) == (1 if mode == "list" else 3)


def test_half_of_the_looks_is_no_majority() -> None:
    found = values(_scored(_listed("10"), (0.5, 0.5), {"n_questions": 2}))
    assert found["answer_relevancy"] == pytest.approx(0.5)


def test_single_questions_are_replicates_of_one_prompt() -> None:
    judge = in_turn(*_questions("0000"))
    parameters = {"mode": "independent", "n_questions": 4}
    _scored(judge, (1, 1, 1, 1), parameters)
    assert len({asked.prompt for asked, _ in judge.asked}) == 1
    assert [asked.replicate for asked, _ in judge.asked] == [0, 1, 2, 3]
    sample = Sample(benchmark="b", system="s", question_id="q", **SAMPLE)  # type: ignore[arg-type]
    assert build("answer_relevancy", parameters).expected_calls(sample) == 4
    assert build("answer_relevancy").expected_calls(sample) == 1


def test_questions_that_point_the_other_way_are_worth_nothing() -> None:
    rows = _scored(_listed("000"), (-0.9, -0.3, 0.3))
    assert values(rows) == {"answer_relevancy": 0.0, "answer_relevancy_ungated": 0.0}
    assert json.loads(rows[0]["detail"])["mean"] == pytest.approx(-0.3)


def test_the_same_question_is_exactly_relevant() -> None:
    assert values(_scored(_listed("000"), (1, 1, 1)))["answer_relevancy"] == 1.0


@pytest.mark.parametrize(
    ("questions", "fault"),
    [
        (_questions("00"), "expected 3 questions, got 2"),
        (_questions("0000"), "expected 3 questions, got 4"),
        ([*_questions("00"), {"question": " ", "noncommittal": False}], "a question is empty"),
    ],
)
def test_other_questions_than_were_asked_for(questions: Any, fault: str) -> None:
    for row in _scored(by_form(GeneratedQuestions={"questions": questions})):
        assert (row["status"], row["value"]) == ("parse_failure", None)
        assert fault in row["reason"]


@pytest.mark.parametrize("answer", ["", " \n"])
def test_an_empty_answer_is_worth_nothing(answer: str) -> None:
    for row in _scored(Scripted(lambda _: pytest.fail("asked")), answer=answer):
        assert (row["value"], row["reason"]) == (0.0, "empty_answer")


def test_who_cannot_be_measured_and_who_failed() -> None:
    judge = Scripted(lambda _: pytest.fail("asked"))
    assert {row["status"] for row in _scored(judge, question=" ")} == {"not_applicable"}
    failed = _scored(judge, error="timeout")
    assert {(row["value"], row["reason"]) for row in failed} == {(0.0, "target_error")}


def test_a_text_without_words_has_no_similarity() -> None:
    rows = _scored(_listed("000"), (0.9, None, 0.9))
    assert {(row["status"], row["value"]) for row in rows} == {("undefined", None)}


@pytest.mark.parametrize("reason", [JudgeError("timed out"), ParseFailure("no JSON")])
def test_an_engine_failure_gives_no_score(reason: Any) -> None:
    for rows in (
        _scored(by_form(GeneratedQuestions=reason)),
        _scored(_listed("000"), (0.9, 0.9, reason)),
    ):
        assert {(row["status"], row["reason"]) for row in rows} == {(reason.status, reason.reason)}


def test_the_judge_does_not_see_the_question() -> None:
    judge = _listed("000")
    _scored(judge)
    ((asked, _),) = judge.asked
    assert "At eight." in asked.prompt.material
    assert "ferry" not in asked.prompt.material


def test_wrong_parameters() -> None:
    for wrong in ({"n_questions": 0}, {"mode": "batch"}, {"gate": "most"}):
        with pytest.raises(BadParameters):
            build("answer_relevancy", wrong)
