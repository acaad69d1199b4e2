"""Groundedness: the answer's sentence that is farthest from the context."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from tests.evaluators.engines.minilm import minilm
from tests.support.golden_cases import golden
from tests.support.samples import Outcome
from tests.support.scripted_models import graded, only, vectors
from tests.support.services import takes_minutes

GOLDEN = golden("semantic_minilm")
CASES = [case for case in GOLDEN["cases"] if case["metric"] == "groundedness"]
TABLE = {
    "Grounded sentence.": (1, 0),
    "Foreign sentence.": (-3, 4),
    "A sentence of the context.": (1, 0),
    "Another sentence there.": (0, 1),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    row = {
        "answer": " ".join(case["input"]["answer_sentences"]),
        "contexts": [" ".join(chunk) for chunk in case["input"]["context_chunks"]],
    }
    found, detail = graded(build("groundedness"), row, embedding=minilm())
    if case["expected"] is None:
        assert found["groundedness"].status == "undefined"
    else:
        expected = case["expected"]["score"]
        assert found["groundedness"].value == pytest.approx(expected, abs=GOLDEN["tolerance"])
        least = case["input"]["answer_sentences"][case["expected"]["least"]]
        assert detail["least_grounded"] == least


def test_the_least_grounded_sentence_sets_the_value_and_is_named() -> None:
    row = {
        "answer": "Grounded sentence. Foreign sentence.",
        "contexts": ["A sentence of the context.", "Another sentence there."],
    }
    found, detail = graded(build("groundedness"), row, embedding=vectors(TABLE))
    assert found["groundedness"].value == pytest.approx(0.8, abs=1e-7)
    assert detail == {
        "least_grounded": "Foreign sentence.",
        "nearest": "Another sentence there.",
        "context": 1,
        "sentences": 2,
    }


@pytest.mark.parametrize(
    ("answer", "contexts", "expected"),
    [
        ("", ["A sentence of the context."], ("undefined", "the answer has no sentence")),
        ("Grounded sentence.", [], ("undefined", "the context has no sentence")),
        ("Grounded sentence.", ["", " "], ("undefined", "the context has no sentence")),
        ("Grounded sentence.", None, ("not_applicable", "no contexts")),
        (None, ["A sentence of the context."], ("not_applicable", "no answer")),
    ],
)
def test_what_has_no_number(answer: str, contexts: Any, expected: tuple[str, str]) -> None:
    row = {"answer": answer, "contexts": contexts}
    assert only(build("groundedness"), row, embedding=vectors(TABLE)) == Outcome(None, *expected)


def test_a_system_that_failed_gets_the_worst() -> None:
    row = {"answer": "x", "contexts": ["y"], "error": "timeout"}
    found = only(build("groundedness"), row, embedding=vectors({}))
    assert found == Outcome(-1.0, "scored", "target_error")


@takes_minutes
def test_two_documents_of_ten_thousand_sentences() -> None:
    sentences = [f"This is sentence number {number}." for number in range(10_000)]
    table = {text: (1.0, place / 10_000) for place, text in enumerate(sentences)}
    foreign = "This one stands in the answer alone."
    row = {"answer": " ".join([*sentences, foreign]), "contexts": [" ".join(sentences)]}
    found, detail = graded(
        build("groundedness"), row, embedding=vectors(table | {foreign: (-1.0, 0.0)})
    )
    assert found["groundedness"].value == pytest.approx(-(0.5**0.5), abs=1e-3)
    assert (detail["least_grounded"], detail["sentences"]) == (foreign, 10_001)
    assert detail["nearest"] == sentences[-1]


@pytest.mark.parametrize(
    ("answer", "contexts", "reason"),
    [
        (
            "Grounded sentence. An empty one.",
            ["A sentence of the context."],
            "the embedding of a sentence of the answer is empty: 'An empty one.'",
        ),
        (
            "Grounded sentence.",
            ["An empty one."],
            "the embedding of the context is empty, such as that of 'An empty one.'",
        ),
    ],
)
def test_an_empty_embedding_is_named(answer: str, contexts: list[str], reason: str) -> None:
    model = vectors({**TABLE, "An empty one.": (0, 0)})
    row = {"answer": answer, "contexts": contexts}
    found = only(build("groundedness"), row, embedding=model)
    assert found == Outcome(None, "undefined", reason)


@pytest.mark.parametrize(("scale", "value"), [("cosine", -0.6), ("unit", 0.0)])
def test_the_scale_of_the_source_starts_at_0(scale: str, value: float) -> None:
    """The source states 0 to 1; the specification stores cosines as they are."""
    evaluator = build("groundedness", {"scale": scale})
    row = {"answer": "Foreign sentence.", "contexts": ["A sentence of the context."]}
    found = only(evaluator, row, embedding=vectors(TABLE))
    assert found.value == pytest.approx(value)
    failed = only(evaluator, row | {"error": "timeout"}, embedding=vectors(TABLE))
    assert failed.value == (-1.0 if scale == "cosine" else 0.0)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("answer_semantic_similarity", "answer_similarity"),
        ("answer_relevancy_sentence_similarity", "answer_relevancy"),
        ("soft_context_relevancy", "recall_relevancy"),
        ("soft_context_relevancy", "precision_relevancy"),
    ],
)
def test_other_similarities_have_the_scale_too(name: str, metric: str) -> None:
    row = {
        "question": "A sentence of the context.",
        "expected_answers": ["A sentence of the context."],
        "answer": "Foreign sentence.",
        "contexts": ["Foreign sentence."],
    }
    for scale, value in (("cosine", -0.6), ("unit", 0.0)):
        evaluator = build(name, {"scale": scale})
        found, _ = graded(evaluator, row, embedding=vectors(TABLE))
        assert found[metric].value == pytest.approx(value)
