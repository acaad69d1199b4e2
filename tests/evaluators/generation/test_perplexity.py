"""Perplexity: tokens pooled, over one answer and over all."""

from __future__ import annotations

import math

import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.flows.protocols import Engines, TokenLikelihood
from evaluators.flows.requests import Likelihood
from evaluators.score_grid import aggregation_rows
from evaluators.scoring import aggregate, score
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, samples
from tests.support.scripted_models import Answers, graded, logprobs, only

TINY = golden("tiny_models")["models"]["causal_lm"]["cases"]
KNOWN = [case for case in TINY if case["token_nll"]]


@pytest.mark.parametrize("case", KNOWN, ids=lambda case: case["text"][:20])
def test_golden(case: dict[str, object]) -> None:
    losses = [-value for value in case["token_nll"]]  # type: ignore[attr-defined]
    model = Answers(lambda _: TokenLikelihood(losses))
    found = only(build("perplexity"), {"answer": case["text"]}, language_model=model)
    assert found.value == pytest.approx(case["perplexity"], rel=1e-9)


def test_the_evidence_counts_tokens() -> None:
    model = logprobs({("", "a b"): [-0.5, -200.0]})
    found, detail = graded(build("perplexity"), {"answer": " a b "}, language_model=model)
    smallest = math.log(2**-149)
    assert found["perplexity"].value == pytest.approx(math.exp((0.5 - smallest) / 2))
    assert detail == {"tokens": 2, "zeros": 1}


def test_what_is_asked_of_the_model() -> None:
    model = Answers(lambda _: TokenLikelihood([-1.0]))
    evaluator = build("perplexity", {"start_token": True, "stride": 7})
    only(evaluator, {"answer": "a b"}, language_model=model)
    assert model.asked == [Likelihood("", "a b", stride=7, start=True)]


def test_all_answers_are_pooled_by_token() -> None:
    evaluator = build("perplexity")
    table = {("", "a"): [-1.0], ("", "b"): [-4.0, -4.0, -4.0], ("", "c"): [-2.0]}
    frame = samples([{"answer": text} for text in ("a", "b", "c", "", None)])
    grades = score(evaluator, frame, Engines(models={"language_model": logprobs(table)}))
    found = aggregate(evaluator, aggregation_rows(evaluator, grades.frame)).scores
    assert found["corpus_perplexity"] == pytest.approx(math.exp(15 / 5))
    assert found["median_perplexity"] == pytest.approx(math.exp(2))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"answer": " "}, ("undefined", "the answer is blank")),
        ({"answer": None}, ("not_applicable", "no answer")),
        ({"answer": "x", "error": "timeout"}, ("target_error", "target_error")),
    ],
)
def test_what_has_no_number(row: dict[str, str], expected: tuple[str, str]) -> None:
    assert only(build("perplexity"), row, language_model=logprobs({})) == Outcome(None, *expected)


def test_a_window_must_move() -> None:
    with pytest.raises(BadParameters, match="stride"):
        build("perplexity", {"stride": 0})
