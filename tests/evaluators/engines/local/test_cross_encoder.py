"""Pair scorers: label order, activation, windows, and Vectara's model without its code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.flows.requests import Pair
from evaluators.outcome import Undefined
from tests.support.golden_cases import golden
from tests.support.scripted_models import graded
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = takes_minutes

TINY = golden("tiny_models")
NLI = TINY["models"]["nli"]
CROSS = TINY["models"]["cross_encoder"]
TOLERANCE = TINY["tolerance"]
PAIRS = [
    Pair("the cat sat on the mat", "the dog ran"),
    Pair("paris is the capital of france . london is not .", "nice day"),
    Pair("a", "you are a bad person"),
    Pair("", "the dog"),
]
LONG = " ".join(["the cat sat on the mat ."] * 10)


def test_golden_entailment_by_the_names_of_the_configuration(engine: Callable[..., Any]) -> None:
    """The model calls its labels as the one of VitaminC does."""
    model = engine("entailment", "nli")
    found = model.answer([Pair(d, s) for d in NLI["document"] for s in NLI["summary"]])
    for label in ("entailment", "contradiction"):
        expected = [value for row in NLI[label] for value in row]
        assert [each[label] for each in found] == pytest.approx(expected, abs=TOLERANCE)
    assert all(sum(each.values()) == pytest.approx(1) for each in found)
    assert set(found[0]) == {"entailment", "neutral", "contradiction"}


def test_golden_cross_encoder(engine: Callable[..., Any]) -> None:
    found = engine("similarity", "cross").answer([Pair(*pair) for pair in CROSS["pairs"]])
    assert [each["score"] for each in found] == pytest.approx(CROSS["default"], abs=TOLERANCE)


def test_a_cross_encoder_gives_what_its_library_gives(
    engine: Callable[..., Any], tiny_models: Path
) -> None:
    from sentence_transformers import CrossEncoder

    oracle = CrossEncoder(str(tiny_models / "cross"), device="cpu", local_files_only=True)
    expected = oracle.predict([(pair.first, pair.second) for pair in PAIRS])
    found = engine("similarity", "cross").answer(PAIRS)
    assert [each["score"] for each in found] == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    ("role", "name"), [("entailment", "nli"), ("similarity", "cross"), ("hallucination", "hhem")]
)
def test_batches_and_order_change_nothing(role: str, name: str, engine: Callable[..., Any]) -> None:
    alone = [engine(role, name, batch_size=1).answer([pair])[0] for pair in PAIRS]
    for size, order in ((2, PAIRS), (3, PAIRS[::-1])):
        answers = engine(role, name, batch_size=size).answer(order)
        found = dict(zip(order, answers, strict=True))
        assert [found[pair] for pair in PAIRS] == [pytest.approx(each, abs=1e-5) for each in alone]


def test_only_the_first_text_is_cut_and_that_is_said(
    engine: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    model = engine("similarity", "cross")
    whole, other, alien = model.answer(
        [Pair(LONG, "the dog ran"), Pair(LONG + " nice", "the dog ran"), Pair("nice", LONG)]
    )
    assert whole == pytest.approx(other, abs=1e-6)
    assert isinstance(alien, Undefined)
    assert "exceeds the model's 32 tokens" in alien.reason
    assert "2 of 3 texts exceeded the model" in caplog.text


def test_vectaras_model_by_a_plain_forward_pass(
    engine: Callable[..., Any], tiny_models: Path
) -> None:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, T5Config, T5ForTokenClassification

    foundation = tiny_models / "hhem" / "foundation"
    tokenizer = AutoTokenizer.from_pretrained(foundation)
    model = T5ForTokenClassification(T5Config.from_pretrained(foundation)).eval()
    weights = load_file(tiny_models / "hhem" / "model.safetensors")
    state = {name.removeprefix("t5."): value for name, value in weights.items()}
    model.load_state_dict(state, strict=False)
    found = engine("hallucination", "hhem").answer(PAIRS)
    for pair, answer in zip(PAIRS, found, strict=True):
        prompt = (
            "<pad> Determine if the hypothesis is true given the premise?\n\n"
            f"Premise: {pair.first}\n\nHypothesis: {pair.second}"
        )
        with torch.no_grad():
            logits = model(**tokenizer(prompt, return_tensors="pt")).logits[0, 0]
        assert answer["score"] == pytest.approx(float(logits.softmax(-1)[1]), abs=1e-5)


def test_braces_in_a_text_are_text(engine: Callable[..., Any]) -> None:
    pairs = [Pair("{text1} {nobody}", "nice {}"), Pair("a", "{text2}")]
    assert all(0 < each["score"] < 1 for each in engine("hallucination", "hhem").answer(pairs))


@pytest.mark.parametrize("name", ["nli", "cross", "hhem"])
def test_the_evaluator_takes_each_of_them(name: str, engine: Callable[..., Any]) -> None:
    row = {"answer": "the dog ran", "contexts": ["the cat sat", "the dog"]}
    found, detail = graded(build("hallucination"), row, hallucination=engine("hallucination", name))
    assert found["hallucination"].value == max(detail["chunks"])


@pytest.mark.parametrize(
    ("role", "name", "reason"),
    [
        ("entailment", "cross", "expected a model with entailment"),
        ("similarity", "nli", "expected a model with score"),
        ("entailment", "unnamed", "does not say what its labels mean"),
    ],
)
def test_a_model_of_another_kind_is_not_loaded(
    role: str, name: str, reason: str, engine: Callable[..., Any]
) -> None:
    model = engine(role, name)
    assert reason in model.unavailable_reason()
    assert model.loads == 0
