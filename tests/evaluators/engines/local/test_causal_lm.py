"""The language model: worked values, plain forward passes, padding, windows and prefixes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.flows.protocols import TokenLikelihood
from evaluators.flows.requests import Likelihood
from evaluators.outcome import Undefined
from tests.support.golden_cases import golden
from tests.support.scripted_models import only
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = takes_minutes

TINY = golden("tiny_models")
WINDOW = 16
FITTING = [c for c in TINY["models"]["causal_lm"]["cases"] if len(c["text"].split()) <= WINDOW]
TEXT = "the cat sat on the mat . the dog ran . you are a bad person . nice day !"
SPANS = [
    Likelihood("", "paris is the capital of france"),
    Likelihood("the cat sat on ", "the mat ."),
    Likelihood("the cat sat on", " the mat ."),
    Likelihood("you are ", "a"),
    Likelihood("", "the dog"),
    Likelihood("paris is the capital of france . london is not the capital of ", "france"),
]


@pytest.fixture
def gpt2(engine: Callable[..., Any]) -> Any:
    return engine("language_model", "gpt2")


@pytest.mark.parametrize("start", [False, True], ids=["plain", "start token"])
@pytest.mark.parametrize("case", FITTING, ids=lambda case: case["text"][:12])
def test_golden_perplexities(case: dict[str, Any], start: bool, gpt2: Any) -> None:
    found = only(
        build("perplexity", {"start_token": start}), {"answer": case["text"]}, language_model=gpt2
    )
    expected = (case["with_start_token"] if start else case)["perplexity"]
    if expected is None:
        assert found.status == "undefined"
    else:
        assert found.value == pytest.approx(expected, rel=TINY["tolerance"])


def test_the_mean_is_the_models_own_loss(gpt2: Any, tiny_models: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_models / "gpt2")
    model: Any = AutoModelForCausalLM.from_pretrained(tiny_models / "gpt2").eval()
    for span, found in zip(SPANS, gpt2.answer(SPANS), strict=True):
        ids = tokenizer(span.prefix + span.continuation, return_tensors="pt")["input_ids"]
        labels = ids.clone()
        labels[0, : len(tokenizer(span.prefix)["input_ids"])] = -100
        with torch.no_grad():
            loss = float(model(input_ids=ids, labels=labels).loss)
        assert -math.fsum(found.logprobs) / len(found.logprobs) == pytest.approx(loss, abs=1e-5)


@pytest.mark.parametrize("size", [1, 2, 6])
def test_batches_padding_and_order_change_nothing(size: int, engine: Callable[..., Any]) -> None:
    together = engine("language_model", "gpt2", batch_size=size)
    alone = engine("language_model", "gpt2", batch_size=1)
    singly = [alone.answer([span])[0] for span in SPANS]
    for order in (SPANS, SPANS[::-1]):
        found = dict(zip(order, together.answer(order), strict=True))
        for span, expected in zip(SPANS, singly, strict=True):
            assert found[span].logprobs == pytest.approx(expected.logprobs, abs=1e-5)


def test_a_longer_prefix_changes_the_value(gpt2: Any) -> None:
    plain, other = gpt2.answer(
        [Likelihood("the cat ", "sat"), Likelihood("you are . the cat ", "sat")]
    )
    assert plain.logprobs != pytest.approx(other.logprobs, abs=1e-3)


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        (Likelihood("the cat ", " "), "no tokens"),
        (Likelihood("", ""), "no tokens"),
        (Likelihood("", "cat"), "one token"),
        (Likelihood("you are ", TEXT), "exceeds the model's 16 tokens"),
        (Likelihood("you are ", TEXT, shorten=(0, 7)), "exceeds the model's 16 tokens"),
    ],
)
def test_what_has_no_number(span: Likelihood, reason: str, gpt2: Any) -> None:
    (found,) = gpt2.answer([span])
    assert isinstance(found, Undefined)
    assert reason in found.reason


def test_windows_pool_every_token_once(gpt2: Any) -> None:
    """Each token is scored by the window that has read the most before it."""
    (found,) = gpt2.answer([Likelihood("", TEXT, stride=4)])
    words = TEXT.split()
    expected: list[float] = []
    for begin, first, end in ((0, 1, 16), (4, 16, 20)):
        window = Likelihood(" ".join(words[begin:first]) + " ", " ".join(words[first:end]))
        expected += gpt2.answer([window])[0].logprobs
    assert len(found.logprobs) == len(words) - 1
    assert found.logprobs == pytest.approx(expected, abs=1e-5)
    assert not found.truncated


def test_a_document_of_ten_thousand_sentences(engine: Callable[..., Any]) -> None:
    gpt2 = engine("language_model", "gpt2", batch_size=256)
    (found,) = gpt2.answer([Likelihood("", "nice . " * 10_000, stride=512)])
    assert len(found.logprobs) == 20_000 - 1
    assert all(value < 0 for value in found.logprobs)


def test_the_part_that_may_give_way_is_shortened_from_its_end(gpt2: Any) -> None:
    source = " ".join(TEXT.split()[:15])
    before, after = "the cat ", " not nice "
    shorten = (len(before), len(before + source))
    span = Likelihood(before + source + after, "you are", shorten=shorten)
    kept = " ".join(source.split()[: WINDOW - 2 - 2 - 2])
    found, expected = gpt2.answer([span, Likelihood(before + kept + after, "you are")])
    assert found == TokenLikelihood(pytest.approx(expected.logprobs, abs=1e-5), truncated=True)


def test_otherwise_the_beginning_of_the_prefix_gives_way(gpt2: Any) -> None:
    words = TEXT.split()
    long, short = (" ".join(words[from_:18]) + " " for from_ in (0, 4))
    found, expected = gpt2.answer([Likelihood(long, "nice day"), Likelihood(short, "nice day")])
    assert found == TokenLikelihood(pytest.approx(expected.logprobs, abs=1e-5), truncated=True)


def test_answers_are_cached(engine: Callable[..., Any], tmp_path: Path) -> None:
    def logprobs(model: Any) -> Sequence[Any]:
        return [answer.logprobs for answer in model.answer(SPANS)]

    first = engine("language_model", "gpt2", store=tmp_path)
    again = engine("language_model", "gpt2", store=tmp_path)
    assert logprobs(first) == logprobs(first)
    assert logprobs(again) == [pytest.approx(each, abs=1e-6) for each in logprobs(first)]
    assert (first.computed, again.computed, again.loads) == (len(SPANS), 0, 0)
