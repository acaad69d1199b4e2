"""Statements: what is made of a text that the judge took apart, and how two lists agree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.components.claims import Agreement, Extraction, Statements, extract_statements

TEXT = "It leaves at eight. Dogs travel free."


def _extracted(reply: Any, text: str = TEXT, question: str | None = None) -> Extraction:
    """Drive the flow by hand: one request, one reply."""
    flow = extract_statements(question, text)
    request: Any = next(flow)
    with pytest.raises(StopIteration) as end:
        flow.send(request.reply.model_validate(reply))
    found: Extraction = end.value.value
    return found


def _reply(*texts: str, noncommittal: bool = False, sentence: str = "a") -> dict[str, Any]:
    claims = [{"sentence": sentence, "text": text} for text in texts]
    return {"noncommittal": noncommittal, "statements": claims}


def test_different_statements_in_their_order() -> None:
    found = _extracted(_reply("The ferry leaves.", "Dogs are\nfree.", "The  ferry leaves."))
    assert found.keyed("s") == {"s1": "The ferry leaves.", "s2": "Dogs are free."}
    assert not found.evades


def test_a_text_without_statements_is_one_unless_it_evades() -> None:
    assert _extracted(_reply(), "Yes").texts == ("Yes",)
    evasive = _extracted(_reply(noncommittal=True), "I do not know.")
    assert evasive.evades
    assert evasive.or_whole().texts == ("I do not know.",)
    partly = _extracted(_reply("It is far.", noncommittal=True))
    assert (partly.evades, partly.noncommittal) == (False, True)


def test_sentences_are_shown_by_key_and_a_blank_question_not_at_all() -> None:
    for question in (None, " "):
        request: Any = next(extract_statements(question, TEXT))
        assert "[b] Dogs travel free." in request.prompt.material
        assert "question" not in request.prompt.material
    asked: Any = next(extract_statements("When?", TEXT))
    assert "When?" in asked.prompt.material


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (_reply("One.", " "), "a statement is empty"),
        (_reply("One.", sentence="z"), "unknown identifiers: z"),
    ],
)
def test_what_the_judge_is_asked_to_put_right(reply: dict[str, Any], fault: str) -> None:
    request: Any = next(extract_statements(None, TEXT))
    assert request.check(Statements.model_validate(reply)) == [fault]
    assert request.check(Statements.model_validate(_reply("One."))) == []


@pytest.mark.parametrize(
    ("agreement", "seed", "symmetric"),
    [
        (Agreement(2, 0, 3, 2), 2 / 3, 0.75),  # golden
        (Agreement(1, 0, 1, 1), 2 / 3, 2 / 3),  # one fact of two is right ...
        (Agreement(3, 0, 1, 1), 6 / 7, 2 / 3),  # ... and is split in three
        (Agreement(0, 3, 0, 2), 0.0, 0.0),
        (Agreement(2, 0, 0, 2), 2 / 3, 0.0),
    ],
)
def test_splitting_a_fact_raises_only_the_sources_f1(
    agreement: Agreement, seed: float, symmetric: float
) -> None:
    assert agreement.f1() == pytest.approx(seed)
    assert agreement.f1_symmetric() == pytest.approx(symmetric)


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.floats(0.1, 5))
def test_f1_is_that_of_precision_and_recall(tp: int, fp: int, fn: int, beta: float) -> None:
    found = Agreement(tp, fp, tp, fn).f1(beta)
    precision, recall = (tp / (tp + other) if tp else 0.0 for other in (fp, fn))
    weighed = beta**2 * precision + recall
    assert found == pytest.approx((1 + beta**2) * precision * recall / weighed if weighed else 0.0)
