"""Answer relevancy by similarity: the sentence nearest to the question."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.flows.protocols import Engines
from evaluators.scoring import score
from tests.evaluators.engines.minilm import minilm
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, samples
from tests.support.scripted_models import Answers, graded, only, vectors

GOLDEN = golden("semantic_minilm")
CASES = [case for case in GOLDEN["cases"] if case["metric"] == "answer_relevancy"]
NAME = "answer_relevancy_sentence_similarity"
TABLE = {
    "Where?": (1, 0),
    "The first sentence.": (0, 1),
    "The second sentence.": (3, 4),
    "Rome.": (-1, 0),
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    row = {
        "question": case["input"]["question"],
        "answer": " ".join(case["input"]["answer_sentences"]),
    }
    found = only(build(NAME), row, embedding=minilm())
    if case["expected"] is None:
        assert found.status == "undefined"
    else:
        expected = case["expected"]["score"]
        assert found.value == pytest.approx(expected, abs=GOLDEN["tolerance"])


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("The first sentence. The second sentence.", 0.6),
        ("The first sentence.", 0.0),
        ("Rome.", -1.0),  # too short to be cut, and stored as it is
    ],
)
def test_the_nearest_sentence_counts(answer: str, value: float) -> None:
    found = only(build(NAME), {"question": "Where?", "answer": answer}, embedding=vectors(TABLE))
    assert found.value == pytest.approx(value, abs=1e-7)


def test_the_evidence_names_it() -> None:
    row = {"question": "Where?", "answer": "The first sentence. The second sentence."}
    _, detail = graded(build(NAME), row, embedding=vectors(TABLE))
    assert detail == {"nearest": "The second sentence.", "sentences": 2}


@pytest.mark.parametrize("answer", ["", " \n\t"])
def test_a_blank_answer_is_undefined_and_not_encoded(answer: str) -> None:
    encoder = vectors({})
    found = only(build(NAME), {"question": "Where?", "answer": answer}, embedding=encoder)
    assert found == Outcome(None, "undefined", "the answer has no sentence")
    assert encoder.asked == []


def test_without_an_encoder_the_reason_says_what_to_do() -> None:
    engines = Engines(absent={"embedding": "set models.embedding"})
    frame = samples([{"question": "Where?", "answer": "Rome."}])
    (row,) = score(build(NAME), frame, engines).long().rows(named=True)
    assert (row["status"], row["reason"]) == ("not_applicable", "set models.embedding")


def test_an_encoder_with_an_obstacle_is_not_asked() -> None:
    encoder = Answers(lambda _: None, obstacle="torch missing: pip install it")
    found = only(build(NAME), {"question": "Where?", "answer": "Rome."}, embedding=encoder)
    assert found == Outcome(None, "not_applicable", "torch missing: pip install it")


def test_ten_thousand_sentences() -> None:
    sentences = [f"This is sentence number {number}." for number in range(10_000)]
    encoder = vectors(TABLE | dict.fromkeys(sentences, (3, 4)))
    answer = " ".join(sentences)
    found, detail = graded(build(NAME), {"question": "Where?", "answer": answer}, embedding=encoder)
    assert found["answer_relevancy"].value == pytest.approx(0.6, abs=1e-7)
    assert detail["sentences"] == 10_000


def test_a_language_that_is_none_is_refused() -> None:
    with pytest.raises(BadParameters, match="language"):
        build(NAME, {"language": "English"})
