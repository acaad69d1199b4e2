"""Completeness and faithfulness: one flow for two models, of which one may be absent."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from tests.support.samples import Outcome
from tests.support.scripted_models import Answers, graded, vectors

NAME = "summarization_completeness_faithfulness"
METRICS = ("completeness", "faithfulness_summac_conv", "faithfulness_summac_zs")
TABLE = {
    "First source sentence.": (1, 0, 0),
    "Second source sentence.": (0, 1, 0),
    "Third source sentence.": (0, 0, 1),
    "Summary of the first.": (0.9, 0.1, 0),
    "Summary of the second.": (0, 0.9, 0.1),
}
SOURCE = " ".join(text for text in TABLE if "source" in text)
SUMMARY = " ".join(text for text in TABLE if "Summary" in text)
ROW = {"question": SOURCE, "answer": SUMMARY}


def entailment(pair: Any) -> dict[str, float]:
    """A sentence follows from the one of the same number."""
    same = pair.second.split()[-1].rstrip(".") == pair.first.split()[0].lower()
    return {
        "entailment": 0.8 if same else 0.1,
        "neutral": 0.1,
        "contradiction": 0.1 if same else 0.3,
    }


def _graded(
    parameters: dict[str, Any] | None = None, row: dict[str, Any] = ROW, **models: Any
) -> list[Outcome]:
    given = {"embedding": vectors(TABLE), "entailment": Answers(entailment)} | models
    found, _ = graded(build(NAME, parameters), row, **given)
    return [found[name] for name in METRICS]


def test_reach_and_entailment() -> None:
    completeness, conv, zs = _graded()
    # Three corners of an equilateral triangle against two of them: one side of three.
    assert completeness.value == pytest.approx(1 / 3)
    assert zs.value == pytest.approx(0.8)
    assert conv == Outcome(None, "not_applicable", "the parameter conv_weights is not set")


def test_the_published_zero_shot_subtracts_contradiction() -> None:
    *_, zs = _graded({"zs_variant": "published"})
    assert zs.value == pytest.approx(0.8 - 0.3)


def test_the_convolution_has_weights_as_a_parameter() -> None:
    weights = [0.0] * 24 + [0.0] * 6 + [0.0, 1.0]
    _, conv, _ = _graded({"conv_weights": weights})
    assert conv.value == pytest.approx(0.7310586)
    with pytest.raises(BadParameters, match="32 numbers"):
        build(NAME, {"conv_weights": [1.0]})


def test_without_entailment_completeness_alone_is_given() -> None:
    found, _ = graded(build(NAME), ROW, embedding=vectors(TABLE))
    absent = Outcome(None, "not_applicable", "no entailment model is configured")
    assert found["completeness"].value == pytest.approx(1 / 3)
    assert [found[name] for name in METRICS[1:]] == [absent, absent]


def test_a_failed_answer_without_entailment() -> None:
    found, _ = graded(build(NAME), ROW | {"error": "timeout"}, embedding=vectors(TABLE))
    assert found["completeness"] == Outcome(0.0, "scored", "target_error")
    assert {found[name].status for name in METRICS[1:]} == {"not_applicable"}


def test_without_an_encoder_nothing_is_given() -> None:
    found, _ = graded(build(NAME), ROW, entailment=Answers(entailment))
    assert {each.reason for each in found.values()} == {"no embedding model is configured"}


def test_the_source_is_read_to_its_hundredth_sentence() -> None:
    sentences = [f"First sentence number {number}." for number in range(10_000)]
    scorer = Answers(entailment)
    encoder = vectors(TABLE | dict.fromkeys(sentences, (1, 0, 0)))
    row = {"question": " ".join(sentences), "answer": SUMMARY}
    _graded(row=row, embedding=encoder, entailment=scorer)
    assert len(scorer.asked) == 100 * 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ROW | {"answer": ""}, "the summary has no sentence"),
        (ROW | {"question": "Too short."}, "the source has no sentence"),
    ],
)
def test_no_sentence_on_a_side_is_undefined(row: dict[str, Any], reason: str) -> None:
    assert set(_graded(row=row)) == {Outcome(None, "undefined", reason)}
