"""GPTScore both ways: the answer after the expected answer, and the other way round."""

from __future__ import annotations

from tests.support.gptscore_cases import assert_both_ways

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
    assert_both_ways(NAME, PROMPTS)
