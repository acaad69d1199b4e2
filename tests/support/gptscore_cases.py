"""What the tests of the four GPTScores ask of each: its very words, and how they are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evaluators.catalog import build
from evaluators.flows.protocols import TokenLikelihood
from tests.support.scripted_models import Answers, graded

if TYPE_CHECKING:
    from collections.abc import Mapping


def assert_one_way(
    name: str, row: Mapping[str, object], prompts: Mapping[str, str], scored: str
) -> None:
    """One text is scored after each prompt, by the worked example of the definition.

    Args:
        name: The evaluator.
        row: What it is given.
        prompts: What the model then reads, by aspect.
        scored: The text whose tokens count.
    """
    # Tokens of probability 0.05, 0.9 and 0.6.
    model = Answers(lambda _: TokenLikelihood([-2.99573227, -0.10536052, -0.51082562]))
    found, _ = graded(build(name), dict(row), language_model=model)
    assert [outcome.value for outcome in found.values()] == pytest.approx(
        [1.2039728] * len(prompts), abs=1e-7
    )
    asked = [(each.prefix, each.continuation) for each in model.asked]
    assert dict(zip(found, asked, strict=True)) == {
        aspect: (prompt, scored) for aspect, prompt in prompts.items()
    }


def assert_both_ways(name: str, prompts: Mapping[str, str]) -> None:
    """Two texts are scored after each other, and the mean counts.

    Args:
        name: The evaluator.
        prompts: What the model reads before the other text when the one is "A b.", by aspect.
    """

    def likelihood(asked: object) -> TokenLikelihood:
        seen.append((asked.prefix, asked.continuation))  # type: ignore[attr-defined]
        forth = asked.continuation == "c d"  # type: ignore[attr-defined]
        # The worked example of the definition: 0.5 one way, 0.8 the other.
        return TokenLikelihood([-0.5, -1.0, -0.25, -0.25] if forth else [-0.8])

    seen: list[tuple[str, str]] = []
    row = {"expected_answers": [" ", "A b. ", "never"], "answer": " c d"}
    found, detail = graded(build(name), row, language_model=Answers(likelihood))
    assert [outcome.value for outcome in found.values()] == pytest.approx([0.65] * len(prompts))
    assert list(found) == list(prompts)
    assert set(seen) == {
        pair
        for prompt in prompts.values()
        for pair in ((prompt, "c d"), (prompt.replace("A b.", "c d"), "A b."))
    }
    assert detail["answer_given_expected"] == pytest.approx(dict.fromkeys(prompts, 0.5))
    assert detail["expected_given_answer"] == pytest.approx(dict.fromkeys(prompts, 0.8))
