"""Answer similarity: vectors or a cross-encoder, the nearest of several expected answers."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from tests.evaluators.engines.minilm import minilm
from tests.support.golden_cases import golden
from tests.support.samples import Outcome
from tests.support.scripted_models import graded, only, relations, vectors

GOLDEN = golden("semantic_minilm")
CASES = [case for case in GOLDEN["cases"] if case["metric"] == "answer_similarity"]
NAME = "answer_semantic_similarity"
TABLE = {"near": (3, 4), "far": (-1, 0), "answer": (0, 1)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    row = {
        "expected_answers": [case["input"]["expected_answer"]],
        "answer": case["input"]["actual_answer"],
    }
    found = only(build(NAME), row, embedding=minilm())
    assert found.value == pytest.approx(case["expected"]["score"], abs=GOLDEN["tolerance"])


def test_the_nearest_expected_answer_counts() -> None:
    row = {"expected_answers": ["far", "near", " "], "answer": "answer"}
    found, detail = graded(build(NAME), row, embedding=vectors(TABLE))
    assert found["answer_similarity"].value == pytest.approx(0.8, abs=1e-7)
    assert detail == {"nearest": "near"}


def test_a_cross_encoder_is_shown_the_expected_answer_first() -> None:
    table = {("near", "answer"): {"score": 0.7}, ("far", "answer"): {"score": 0.1}}
    evaluator = build(NAME, {"by": "similarity"})
    row = {"expected_answers": ["far", "near"], "answer": "answer"}
    assert only(evaluator, row, similarity=relations(table)) == Outcome(0.7)


def test_what_is_asked_for_is_what_is_lacking() -> None:
    row = {"expected_answers": ["near"], "answer": "answer"}
    with_scorer = only(build(NAME, {"by": "similarity"}), row, embedding=vectors(TABLE))
    with_encoder = only(build(NAME), row, similarity=relations({}))
    assert [with_scorer.reason, with_encoder.reason] == [
        "no similarity model is configured",
        "no embedding model is configured",
    ]


def test_the_signature_names_the_model_that_answers() -> None:
    known = {"embedding": "minilm@1", "similarity": "stsb@2"}
    by_vectors = build(NAME).with_engine_identities(known).signature
    by_pairs = build(NAME, {"by": "similarity"}).with_engine_identities(known).signature
    assert "|embedding:minilm@1|" in by_vectors
    assert "|similarity:stsb@2|" in by_pairs


@pytest.mark.parametrize(
    ("expected", "answer", "outcome"),
    [
        (["near"], " ", ("undefined", "the answer is blank")),
        ([" "], "answer", ("not_applicable", "no expected answer with text")),
        (None, "answer", ("not_applicable", "no expected_answers")),
    ],
)
def test_what_has_no_number(expected: Any, answer: str, outcome: tuple[str, str]) -> None:
    row = {"expected_answers": expected, "answer": answer}
    assert only(build(NAME), row, embedding=vectors(TABLE)) == Outcome(None, *outcome)
