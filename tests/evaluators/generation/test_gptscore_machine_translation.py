"""GPTScore both ways: the answer after the expected answer, and the other way round."""

from __future__ import annotations

from tests.support.gptscore_cases import assert_both_ways

NAME = "gptscore_machine_translation"
PROMPTS = {
    "accuracy": (
        "Rewrite the following text "
        "with its core information and consistent facts: A b. In other words, "
    ),
    "fluency": (
        "Rewrite the following text "
        "to make it more grammatical and well-written: A b. In other words, "
    ),
    "multidimensional_quality": (
        "Rewrite the following text "
        "into high-quality text with its core information: A b. In other words, "
    ),
}
"""What a model reads before the other text, by aspect, when the one is "A b."."""


def test_the_wording_and_the_mean_of_both_ways() -> None:
    assert_both_ways(NAME, PROMPTS)
