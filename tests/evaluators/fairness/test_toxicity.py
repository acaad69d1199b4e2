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


@pytest.mark.parametrize(
    ("combine", "value"), [("worst", 0.75), ("mean", (0.75 + 0.25 + 0.25) / 3), ("whole", 0.5)]
)
def test_how_sentences_are_combined(combine: str, value: float) -> None:
    """The source's page leaves it open; the specification takes the worst sentence."""
    table = {"You are bad.": 0.75, "Nice day today.": 0.25}
    model = Answers(lambda request: {"toxicity": table.get(request.text, 0.5)})
    row = {"answer": "You are bad. Nice day today. Nice day today."}
    found, detail = graded(build("toxicity", {"combine": combine}), row, toxicity=model)
    assert found["toxicity"].value == pytest.approx(value)
    assert detail["worst"] == (row["answer"] if combine == "whole" else "You are bad.")
