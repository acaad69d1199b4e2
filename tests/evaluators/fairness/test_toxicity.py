"""Toxicity: the worst sentence of each label."""

from __future__ import annotations

import pytest

from evaluators.catalog import build
from tests.support.golden_cases import golden
from tests.support.samples import Outcome
from tests.support.scripted_models import Answers, graded, only

TINY = golden("tiny_models")["models"]["toxicity"]
DETOXIFY = {
    "toxicity": "toxic",
    "severe_toxicity": "severe_toxic",
    "identity_attack": "identity_hate",
}


def test_golden_each_label_is_the_maximum_over_sentences() -> None:
    table = {
        text: {DETOXIFY.get(name, name): value for name, value in labels.items()}
        for text, labels in zip(TINY["sentences"], TINY["per_sentence"], strict=True)
    }
    model = Answers(lambda request: table[request.text])
    found, detail = graded(build("toxicity"), {"answer": " ".join(table)}, toxicity=model)
    assert {name: outcome.value for name, outcome in found.items()} == TINY["expected_max"]
    assert detail == {"worst": "Nice day!", "sentences": 3}


def test_a_sentence_that_comes_again_is_asked_about_once() -> None:
    model = Answers(lambda _: {"toxicity": 0.5})
    only(build("toxicity"), {"answer": "You are bad. You are bad. I am not."}, toxicity=model)
    assert len(model.asked) == 2


def test_a_label_that_the_model_does_not_give() -> None:
    model = Answers(lambda _: {"toxicity": 0.5})
    found, _ = graded(build("toxicity"), {"answer": "You are bad."}, toxicity=model)
    assert found["toxicity"] == Outcome(0.5)
    assert found["threat"] == Outcome(None, "not_applicable", "the model gives no threat")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"answer": " "}, ("undefined", "the answer has no sentence")),
        ({"answer": None}, ("not_applicable", "no answer")),
        ({"answer": "x", "error": "timeout"}, ("target_error", "target_error")),
    ],
)
def test_what_has_no_number(row: dict[str, str], expected: tuple[str, str]) -> None:
    model = Answers(lambda _: {"toxicity": 0.5})
    assert only(build("toxicity"), row, toxicity=model) == Outcome(None, *expected)
