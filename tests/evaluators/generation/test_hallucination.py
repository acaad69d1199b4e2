"""Hallucination: the chunk that bears the answer out best, and all chunks together."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.outcome import Undefined
from tests.support.samples import Outcome
from tests.support.scripted_models import Answers, graded, relations

TABLE = {
    ("one", "answer"): {"score": 0.2},
    ("two", "answer"): {"score": 0.6},
    ("one\ntwo", "answer"): {"score": 0.9},
}


def _graded(row: dict[str, Any], scorer: Any) -> tuple[dict[str, Outcome], dict[str, Any]]:
    return graded(build("hallucination"), row, hallucination=scorer)


def test_the_best_chunk_and_the_whole() -> None:
    found, detail = _graded(
        {"answer": " answer ", "contexts": ["", "one", "two"]}, relations(TABLE)
    )
    assert found == {"hallucination": Outcome(0.6), "hallucination_joined": Outcome(0.9)}
    assert detail == {"context": 2, "chunks": [0.2, 0.6]}


def test_the_chunk_comes_first() -> None:
    scorer = relations(TABLE)
    _graded({"answer": "answer", "contexts": ["one"]}, scorer)
    assert {(asked.first, asked.second) for asked in scorer.asked} == {("one", "answer")}


def test_a_model_of_entailment_serves_as_well() -> None:
    said = {"entailment": 0.7, "neutral": 0.2, "contradiction": 0.1}
    found, _ = _graded({"answer": "answer", "contexts": ["one"]}, Answers(lambda _: said))
    assert found["hallucination"] == Outcome(0.7)


def test_an_answer_that_exceeds_the_window_is_undefined() -> None:
    scorer = Answers(lambda _: Undefined("too long"))
    found, _ = _graded({"answer": "answer", "contexts": ["one"]}, scorer)
    assert set(found.values()) == {Outcome(None, "undefined", "too long")}


@pytest.mark.parametrize(
    ("answer", "contexts", "expected"),
    [
        (" ", ["one"], ("undefined", "the answer is blank")),
        ("answer", [], ("undefined", "the context has no text")),
        ("answer", ["", " "], ("undefined", "the context has no text")),
        ("answer", None, ("not_applicable", "no contexts")),
    ],
)
def test_what_has_no_number(answer: str, contexts: Any, expected: tuple[str, str]) -> None:
    found, _ = _graded({"answer": answer, "contexts": contexts}, relations(TABLE))
    assert set(found.values()) == {Outcome(None, *expected)}
