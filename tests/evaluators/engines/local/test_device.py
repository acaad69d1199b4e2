"""Devices and batches: where a model runs, and what goes through it together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.engines.local.device import batch_by_length, batch_size, select_device
from evaluators.engines.roles import Options
from evaluators.errors import Unavailable
from evaluators.flows.requests import Classify, Likelihood

if TYPE_CHECKING:
    from collections.abc import Callable


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(1, 9), st.integers(1, 900))
def test_every_text_is_in_one_batch_that_keeps_its_bounds(
    lengths: list[int], most: int, tokens: int
) -> None:
    found = list(batch_by_length(lengths, most, tokens))
    assert sorted(place for batch in found for place in batch) == list(range(len(lengths)))
    for batch in found:
        longest = max(lengths[place] for place in batch)
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * longest <= tokens
    order = [lengths[place] for batch in found for place in batch]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_a_graphics_processor_is_taken_where_there_is_one(
    cuda: bool, mps: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr("torch.cuda.is_available", lambda: cuda)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: mps)
    assert select_device(Options()) == expected
    assert select_device(Options(device="cpu")) == "cpu"


def test_a_graphics_processor_takes_larger_batches() -> None:
    assert (batch_size(Options(), "cpu"), batch_size(Options(), "cuda")) == (32, 256)
    assert batch_size(Options(batch_size=7), "cuda") == 7


def test_another_type_of_numbers_is_another_model(engine: Callable[..., Any]) -> None:
    plain = engine("language_model", "gpt2")
    coarse = engine("language_model", "gpt2", dtype="bfloat16")
    asked = [Likelihood("", "paris is the capital of france")]
    (one,), (other,) = plain.answer(asked), coarse.answer(asked)
    assert plain.identity.removesuffix("float32") == coarse.identity.removesuffix("bfloat16")
    assert one.logprobs == pytest.approx(other.logprobs, rel=0.05)
    assert one.logprobs != pytest.approx(other.logprobs, rel=1e-5)


@pytest.mark.parametrize("device", ["cuda:99", "mps"])
def test_a_graphics_processor_that_is_not_there_is_a_reason(
    device: str, engine: Callable[..., Any]
) -> None:
    import torch

    if device == "mps" and torch.backends.mps.is_available():
        pytest.skip("this machine has one")
    model = engine("toxicity", "toxic", device=device)
    with pytest.raises(Unavailable, match=rf"models\.device is {device}, but PyTorch .* finds"):
        model.answer([Classify("nice", "toxicity")])
    assert model.loads == 0
