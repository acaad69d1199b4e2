"""GPTScore: what the four evaluators have in common."""

from __future__ import annotations

import math

import pytest

from evaluators.catalog import build
from evaluators.components.gptscore import GptScore, likelihood_request
from evaluators.flows.protocols import TokenLikelihood
from evaluators.outcome import Undefined
from evaluators.text.likelihoods import average_negative, count_zeros
from tests.support.samples import Outcome
from tests.support.scripted_models import Answers, graded, only

NAMES = (
    "gptscore_machine_translation",
    "gptscore_question_answering",
    "gptscore_summarization_with_reference",
    "gptscore_summarization_without_reference",
)


@pytest.mark.parametrize(
    ("logprobs", "expected"),
    [
        ((-0.5, -1.0, -0.25, -0.25), 0.5),  # the worked examples of the definition
        (tuple(map(math.log, (0.05, 0.9, 0.6))), 1.2039728),
        ((math.log(0.6),), 0.5108256),
        ((0.0,), 0.0),
        ((1e-7,), 0.0),
    ],
)
def test_average_negative_log_likelihood(logprobs: tuple[float, ...], expected: float) -> None:
    assert average_negative(logprobs) == pytest.approx(expected, abs=1e-7)


def test_a_probability_of_nought_counts_as_the_smallest_number() -> None:
    assert average_negative([-math.inf]) == pytest.approx(103.27893)
    assert count_zeros([-math.inf, -103.0]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_aspect_has_an_instruction(name: str) -> None:
    evaluator = build(name)
    assert isinstance(evaluator, GptScore)
    assert list(evaluator.instructions) == [metric.name for metric in evaluator.metrics]
    assert all(text.count("{}") == 1 for text in evaluator.instructions.values())
    assert {(m.best, m.bounds, m.threshold) for m in evaluator.metrics} == {
        ("low", (0.0, math.inf), math.inf)
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_signature_depends_on_the_instructions(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator = build(name)
    before = evaluator.signature
    changed = {key: text + " " for key, text in type(evaluator).instructions.items()}  # type: ignore[attr-defined]
    monkeypatch.setattr(type(evaluator), "instructions", changed)
    assert build(name).signature != before


def test_the_source_is_what_gives_way() -> None:
    asked = likelihood_request("Before {} after ", " the {} source\n", " text ")
    assert asked.prefix == "Before the {} source after "
    assert asked.continuation == "text"
    assert asked.shorten is not None
    assert asked.prefix[slice(*asked.shorten)] == "the {} source"


def test_nothing_is_asked_about_a_blank_text() -> None:
    with pytest.raises(Undefined, match="blank"):
        likelihood_request("{}", "source", " ")


def test_shortened_prefixes_are_counted() -> None:
    model = Answers(lambda asked: TokenLikelihood([-1.0], truncated="Tl;dr" in asked.prefix))
    row = {"question": "A long source.", "answer": "short"}
    _, detail = graded(build(NAMES[3]), row, language_model=model)
    assert detail == {"truncated": 7, "zeros": 0}


@pytest.mark.parametrize("name", [NAMES[0], NAMES[2]])
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            {"expected_answers": ["x"], "answer": " "},
            ("undefined", "a text that is to be scored is blank"),
        ),
        (
            {"expected_answers": [" "], "answer": "x"},
            ("not_applicable", "no expected answer with text"),
        ),
        (
            {"expected_answers": ["x"], "answer": "x", "error": "timeout"},
            ("target_error", "target_error"),
        ),
    ],
)
def test_no_number_with_a_reference(
    name: str, row: dict[str, object], expected: tuple[str, str]
) -> None:
    model = Answers(lambda _: TokenLikelihood([-1.0]))
    assert only(build(name), row, language_model=model) == Outcome(None, *expected)


@pytest.mark.parametrize("name", [NAMES[1], NAMES[3]])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"answer": " "}, "undefined"),
        ({"question": None}, "not_applicable"),
        ({"error": "timeout"}, "target_error"),
    ],
)
def test_no_number_without_a_reference(name: str, change: dict[str, str], expected: str) -> None:
    model = Answers(lambda _: TokenLikelihood([-1.0]))
    row = {"question": "When?", "answer": "At eight.", **change}
    found = only(build(name), row, language_model=model)
    assert (found.value, found.status) == (None, expected)
