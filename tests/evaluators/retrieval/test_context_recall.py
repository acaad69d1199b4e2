"""Context recall: what the expected answer says, found in the context."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.sample import Sample
from tests.support.scripted_judge import Scripted, by_form, judged, values

SAMPLE = {
    "question": "When does the ferry leave?",
    "expected_answers": ["One is here. Two is here. Three is here. Four is here."],
    "contexts": ["The ferry leaves at eight.", "", "Dogs need a ticket."],
}


def _claims(count: int, *, noncommittal: bool = False) -> dict[str, Any]:
    claims = [{"sentence": "a", "text": f"Claim {n}."} for n in range(count)]
    return {"noncommittal": noncommittal, "statements": claims}


def _attributed(**verdicts: bool) -> dict[str, Any]:
    return {
        "verdicts": [
            {"key": key, "reasoning": "", "passages": [], "attributed": verdict}
            for key, verdict in verdicts.items()
        ]
    }


def _scored(claims: Any, said: Any, **change: Any) -> tuple[list[dict[str, Any]], Scripted]:
    judge = by_form(Statements=claims, Attributions=said)
    return judged(build("context_recall"), SAMPLE | change, judge), judge


def test_sentences_and_statements_are_counted_apart() -> None:
    said = _attributed(a=True, b=True, c=False, d=True, r1=True, r2=False)
    rows, judge = _scored(_claims(2), said)
    assert values(rows) == {"context_recall": 0.75, "context_recall_claims": 0.5}  # golden: .75
    assert len(judge.asked) == 2
    keys = {"benchmark": "b", "system": "s", "question_id": "q"}
    assert build("context_recall").expected_calls(Sample.of(keys | SAMPLE)) == 2  # type: ignore[attr-defined]
    backwards = {"verdicts": said["verdicts"][::-1]}
    assert values(_scored(_claims(2), backwards)[0]) == values(rows)


def test_an_answer_of_one_word_is_one_sentence() -> None:
    rows, _ = _scored(_claims(0), _attributed(a=True, r1=True), expected_answers=["Yes"])
    assert values(rows) == {"context_recall": 1.0, "context_recall_claims": 1.0}


def test_an_unknown_key_never_helps() -> None:
    said = _attributed(a=True, b=False, c=False, d=False, r1=False, e=True, r2=True)
    rows, _ = _scored(_claims(1), said)
    assert values(rows) == {"context_recall": 0.25, "context_recall_claims": 0.0}


@pytest.mark.parametrize("contexts", [[], [" "]])
def test_nothing_retrieved_is_worth_nothing(contexts: list[str]) -> None:
    rows, judge = _scored(_claims(1), None, contexts=contexts)
    assert {(row["value"], row["reason"]) for row in rows} == {(0.0, "no_context")}
    assert not judge.asked


def test_an_expected_answer_that_states_nothing_has_no_statements() -> None:
    said = _attributed(a=False)
    rows, _ = _scored(_claims(0, noncommittal=True), said, expected_answers=["Nobody knows."])
    assert [row["status"] for row in rows] == ["scored", "undefined"]
    assert rows[1]["reason"].startswith("no_claims")


def test_sentences_are_judged_alone_where_the_statements_could_not_be_had() -> None:
    said = _attributed(a=True, b=True, c=True, d=True)
    for reason in (ParseFailure("no JSON"), JudgeError("timed out")):
        rows, judge = _scored(reason, said)
        assert rows[0]["value"] == 1.0
        assert (rows[1]["status"], rows[1]["reason"]) == (reason.status, reason.reason)
        assert "statements" not in judge.asked[1][0].prompt.material


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (_attributed(a=True, b=True, c=True, r1=True), "parse_failure"),
        (_attributed(a=True, b=True, c=True, d=True), "parse_failure"),
        (JudgeError("timed out"), "judge_error"),
    ],
)
def test_a_verdict_that_is_missing_leaves_no_value(said: Any, status: str) -> None:
    rows, _ = _scored(_claims(1), said)
    assert {(row["status"], row["value"]) for row in rows} == {(status, None)}


def test_who_cannot_be_measured_and_who_failed() -> None:
    for change in ({"contexts": None}, {"expected_answers": None}, {"expected_answers": [" "]}):
        for error in (None, "timeout") if "contexts" not in change else (None,):
            rows, _ = _scored(_claims(1), None, error=error, **change)
            assert {row["status"] for row in rows} == {"not_applicable"}
    rows, judge = _scored(_claims(1), None, error="timeout")
    assert {(row["value"], row["reason"]) for row in rows} == {(0.0, "target_error")}
    assert not judge.asked


def test_other_expected_answers_are_shown_as_alternatives() -> None:
    said = _attributed(a=True, r1=True)
    _, judge = _scored(_claims(1), said, expected_answers=["", "Two o'clock", "14:00", "2 pm"])
    material = judge.asked[1][0].prompt.material
    assert "[a] Two o'clock" in material
    assert "[1] 14:00" in material
    assert "[2] 2 pm" in material
    assert "[c2] Dogs need a ticket." in material


def test_statements_can_be_left_out_for_the_price_of_their_question() -> None:
    judge = by_form(Attributions=_attributed(a=True, b=True, c=False, d=True))
    evaluator = build("context_recall", {"claims": False})
    rows = judged(evaluator, SAMPLE, judge)
    assert values(rows) == {"context_recall": 0.75, "context_recall_claims": None}
    assert (rows[1]["status"], len(judge.asked)) == ("not_applicable", 1)
    keys = {"benchmark": "b", "system": "s", "question_id": "q"}
    assert evaluator.expected_calls(Sample.of(keys | SAMPLE)) == 1  # type: ignore[attr-defined]
