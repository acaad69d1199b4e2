"""GPTScore both ways: the answer after the expected answer, and the other way round."""

from __future__ import annotations

import pytest

from evaluators.catalog import build
from evaluators.engines.contract import TokenLikelihood
from tests.models import Answers, graded, only
from tests.samples import Outcome

NAME = "gptscore_summarization_with_reference"
PROMPTS = {
    "semantic_coverage": (
        "Rewrite the following text with the same semantics. A b. In other words, "
    ),
    "factuality": ("Rewrite the following text with consistent facts. A b. In other words, "),
    "informativeness": (
        "Rewrite the following text with its core information. A b. In other words, "
    ),
    "coherence": ("Rewrite the following text into a coherent text. A b. In other words, "),
    "relevance": ("Rewrite the following text with consistent details. A b. In other words, "),
    "fluency": (
        "Rewrite the following text into a fluent and grammatical text. A b. In other words, "
    ),
}
"""What a model reads before the other text, by aspect, when the one is "A b."."""


def test_the_wording_and_the_mean_of_both_ways() -> None:
    def likelihood(asked: object) -> TokenLikelihood:
        seen.append((asked.prefix, asked.continuation))  # type: ignore[attr-defined]
        forth = asked.continuation == "c d"  # type: ignore[attr-defined]
        # The worked example of the definition: 0.5 one way, 0.8 the other.
        return TokenLikelihood([-0.5, -1.0, -0.25, -0.25] if forth else [-0.8])

    seen: list[tuple[str, str]] = []
    row = {"expected_answers": [" ", "A b. ", "never"], "answer": " c d"}
    found, detail = graded(build(NAME), row, language_model=Answers(likelihood))
    assert [outcome.value for outcome in found.values()] == pytest.approx([0.65] * len(PROMPTS))
    assert list(found) == list(PROMPTS)
    assert set(seen) == {
        pair
        for prompt in PROMPTS.values()
        for pair in ((prompt, "c d"), (prompt.replace("A b.", "c d"), "A b."))
    }
    assert detail["answer_given_expected"] == pytest.approx(dict.fromkeys(PROMPTS, 0.5))
    assert detail["expected_given_answer"] == pytest.approx(dict.fromkeys(PROMPTS, 0.8))


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
def test_what_has_no_number(row: dict[str, object], expected: tuple[str, str]) -> None:
    model = Answers(lambda _: TokenLikelihood([-1.0]))
    assert only(build(NAME), row, language_model=model) == Outcome(None, *expected)
