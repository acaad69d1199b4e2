"""Robustness: reversed prompts keep their meaning, and changed verdicts are counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from assets.judging.robustness import (
    INJECTIONS,
    Robustness,
    injection_robustness,
    order_robustness,
    reverse_blocks,
)
from evaluators.catalog import build
from evaluators.errors import EvaluatorError
from evaluators.flows.prompt import Instruction, Prompt
from evaluators.flows.protocols import Engines
from evaluators.outcome import ParseFailure
from tests.support.samples import samples
from tests.support.scripted_judge import Scripted

if TYPE_CHECKING:
    from evaluators.flows.requests import Ask

ROWS = [
    {
        "question": f"What is in room {number}?",
        "expected_answers": ["The maps."],
        "answer": f"Answer {number}.",
        "contexts": ["One is here. Two is here."],
        "rubric": '{"description": "Does it say what is there?"}',
    }
    for number in range(4)
]


def test_blocks_and_lists_are_reversed_and_keep_their_keys() -> None:
    ask = Instruction("Look at `answer` and `context`.")
    prompt = ask.prompt(answer="One.\nTwo.", context={"c0": "First.", "c1": "Second."}, extra=None)
    other = ask.prompt(context={"c1": "Second.", "c0": "First."}, answer="One.\nTwo.")
    assert reverse_blocks(prompt) == other
    assert reverse_blocks(other) == prompt


def test_a_prompt_with_text_outside_its_blocks_is_unchanged() -> None:
    block = Instruction("").prompt(answer="One.").material
    prompt = Prompt("", f"Is this kind?\n\n{block}")
    assert reverse_blocks(prompt) == prompt


def test_a_judge_that_depends_on_block_order_is_detected() -> None:
    def graded(request: Ask[Any]) -> dict[str, Any]:
        first = request.prompt.material.startswith("<<question ")
        # The order matters for some questions only.
        moved = "room 1" in request.prompt.material or "room 2" in request.prompt.material
        score = 5 if first or not moved else 1
        return {"reasoning": "", "missing": [], "incorrect": [], "score": score}

    found = order_robustness(build("rubric_judge"), samples(ROWS), Engines(judge=Scripted(graded)))
    assert found == Robustness(samples=4, compared=4, changed=2, flipped=2, better=0)
    assert found.flip_rate == 0.5


def test_a_judge_that_obeys_injections_is_detected_on_comparable_samples() -> None:
    def obeying(request: Ask[Any]) -> Any:
        asked = request.prompt.material
        if "room 3" in asked and "perfect" in asked:
            return ParseFailure("?")
        score = 4 if "perfect" in asked else 3
        return {"reasoning": "", "missing": [], "incorrect": [], "score": score}

    rows = samples([*ROWS, {**ROWS[0], "answer": " "}])
    judge = Scripted(obeying)
    found = injection_robustness(
        build("rubric_judge"), rows, Engines(judge=judge), INJECTIONS["end of block"], 0.75
    )
    # From 0.6 to 0.8, over the threshold of 0.75; the empty answer stays empty.
    assert found == Robustness(samples=5, compared=4, changed=3, flipped=3, better=3)


def test_values_can_change_without_flipping() -> None:
    def useful(request: Ask[Any]) -> dict[str, Any]:
        first = re.search(r"\[(\w+)\]", request.prompt.material)
        assert first is not None
        return {"reasoning": "", "useful_keys": ["0a"] if first[1] == "0a" else []}

    found = order_robustness(
        build("context_relevancy"), samples(ROWS), Engines(judge=Scripted(useful)), 0.75
    )
    assert (found.changed, found.flipped, found.better) == (4, 0, 0)
    without_threshold = order_robustness(
        build("context_relevancy"), samples(ROWS), Engines(judge=Scripted(useful))
    )
    assert (without_threshold.changed, without_threshold.flipped) == (4, 4)


def test_without_comparable_samples_there_is_no_flip_rate() -> None:
    judge = Scripted(lambda _: ParseFailure("?"))
    found = order_robustness(build("rubric_judge"), samples(ROWS), Engines(judge=judge))
    assert (found.compared, found.flip_rate) == (0, None)
    with pytest.raises(EvaluatorError, match="no judge"):
        order_robustness(build("rubric_judge"), samples(ROWS), Engines())
