"""GPTScore of summaries without a reference: the wording, and the summary after it."""

from __future__ import annotations

import pytest

from evaluators.catalog import build
from evaluators.engines.contract import TokenLikelihood
from tests.models import Answers, graded, only

NAME = "gptscore_summarization_without_reference"
ROW = {"question": " A long source.", "answer": "Short. "}
PROMPTS = {
    "semantic_coverage": (
        "Generate a summary with as much semantic coverage as possible "
        "for the following text: A long source.\nTl;dr\n"
    ),
    "factuality": (
        "Generate a summary with consistent facts for the following text: A long source.\nTl;dr\n"
    ),
    "consistency": (
        "Generate a factually consistent summary for the following text: A long source.\nTl;dr\n"
    ),
    "informativeness": (
        "Generate an informative summary that captures the key points of "
        "the following text: A long source.\nTl;dr\n"
    ),
    "coherence": ("Generate a coherent summary for the following text: A long source.\nTl;dr\n"),
    "relevance": (
        "Generate a relevant summary with consistent details "
        "for the following text: A long source.\nTl;dr\n"
    ),
    "fluency": (
        "Generate a fluent and grammatical summary for the following text: A long source.\nTl;dr\n"
    ),
}


def test_the_wording() -> None:
    # The worked example of the definition: tokens of probability 0.05, 0.9 and 0.6.
    model = Answers(lambda _: TokenLikelihood([-2.99573227, -0.10536052, -0.51082562]))
    found, _ = graded(build(NAME), ROW, language_model=model)
    assert [outcome.value for outcome in found.values()] == pytest.approx(
        [1.2039728] * len(PROMPTS), abs=1e-7
    )
    asked = [(each.prefix, each.continuation) for each in model.asked]
    assert dict(zip(found, asked, strict=True)) == {
        name: (prompt, "Short.") for name, prompt in PROMPTS.items()
    }


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"answer": " "}, "undefined"),
        ({"question": None}, "not_applicable"),
        ({"error": "timeout"}, "target_error"),
    ],
)
def test_what_has_no_number(change: dict[str, str], expected: str) -> None:
    model = Answers(lambda _: TokenLikelihood([-1.0]))
    found = only(build(NAME), {**ROW, **change}, language_model=model)
    assert (found.value, found.status) == (None, expected)
