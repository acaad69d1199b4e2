"""Models on a GPU: what they answer on a CPU, in each floating-point type; skipped without one.

On a machine without the other packages: `python -m pytest --noconftest -p
tests.evaluators.engines.conftest tests/evaluators/engines/local/test_gpu.py`.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evaluators.engines.local.embedding import load
from evaluators.engines.roles import Options
from evaluators.flows.protocols import TokenLikelihood
from evaluators.flows.requests import Classify, Embed, Likelihood, Pair

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

TEXTS = [
    "the cat sat on the mat .",
    "you are a bad person .",
    "paris is the capital of france",
    "nice",
    "the dog ran . " * 5,
    "a",
]
PAIRS = [Pair(first, second) for first in TEXTS for second in TEXTS[:4]]
REQUESTS: dict[str, Sequence[Any]] = {
    "embedding": [Embed(text) for text in TEXTS],
    "entailment": PAIRS,
    "similarity": PAIRS,
    "hallucination": PAIRS,
    "toxicity": [Classify(text, "toxicity") for text in TEXTS],
    "fairness_bias": [Classify(text, "fairness_bias") for text in TEXTS],
    "language_model": [
        Likelihood("", "paris is the capital of france"),
        Likelihood("the cat sat on ", "the mat ."),
        Likelihood("you are ", "a"),
        Likelihood("", "the cat sat on the mat . the dog ran ."),
    ],
}
MODELS = [
    ("embedding", "toxic"),
    ("entailment", "nli"),
    ("similarity", "cross"),
    ("hallucination", "hhem"),
    ("toxicity", "toxic"),
    ("fairness_bias", "bias"),
    ("language_model", "gpt2"),
]
CLOSE = {"float32": 1e-4, "float16": 0.01, "bfloat16": 0.08}
"""The tolerance of each type: some rounding errors of 2⁻²⁴, 2⁻¹¹ and 2⁻⁸ add up."""


@pytest.fixture(scope="module", autouse=True)
def _gpu() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")


def numbers(answers: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
    """The numbers of each answer."""
    found = [each.logprobs if isinstance(each, TokenLikelihood) else each for each in answers]
    return [
        np.array(list(each.values()) if isinstance(each, dict) else each, dtype=np.float64)
        for each in found
    ]


@pytest.mark.parametrize("dtype", sorted(CLOSE))
@pytest.mark.parametrize(("role", "name"), MODELS)
def test_a_gpu_answers_what_a_cpu_answers(
    role: str, name: str, dtype: str, engine: Callable[..., Any]
) -> None:
    import torch

    requests = REQUESTS[role]
    expected = numbers(engine(role, name, device="cpu").answer(requests))
    gc.collect()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    model = engine(role, name, dtype=dtype)
    found = numbers(model.answer(requests))
    assert model.loads == 1
    assert torch.cuda.max_memory_allocated() > before, "auto takes the GPU"
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize("dtype", sorted(CLOSE))
def test_many_texts_of_mixed_length_are_those_of_one_by_one(
    dtype: str, engine: Callable[..., Any]
) -> None:
    texts = [" ".join(["the cat sat on the mat"] * (1 + number % 4)) for number in range(700)]
    many = engine("embedding", "toxic", dtype=dtype).answer([Embed(text) for text in texts])
    alone = engine("embedding", "toxic", dtype=dtype, batch_size=1)
    for number in range(4):
        (expected,) = alone.answer([Embed(texts[number])])
        np.testing.assert_allclose(many[number], expected, atol=CLOSE[dtype])
        np.testing.assert_allclose(many[number], many[number + 400], atol=CLOSE[dtype])


@pytest.mark.parametrize("dtype", sorted(CLOSE))
def test_vectors_have_length_1_on_a_gpu(dtype: str, tiny_models: Path) -> None:
    model = load(tiny_models / "toxic", Options(dtype=dtype))
    for _, vector in model.compute(REQUESTS["embedding"]):
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
