"""Repeats: the middle of several judgments, more of them near a threshold, ties left undecided."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.flows.protocols import Engines, Repeats
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.scripted_judge import in_turn

if TYPE_CHECKING:
    from tests.support.scripted_judge import Scripted

CONTEXT = ["One is here. Two is here. Three is here. Four is here."]
ROW = {"question": "Which?", "contexts": CONTEXT}


def useful(count: int) -> dict[str, Any]:
    """A reply that finds so many of the four sentences useful."""
    return {"reasoning": "", "useful_keys": ["0a", "0b", "0c", "0d"][:count]}


def judged(judge: Scripted, repeats: Repeats) -> dict[str, Any]:
    engines = Engines(judge=judge, repeats=repeats)
    (row,) = score(build("context_relevancy"), samples([ROW]), engines).long().rows(named=True)
    return row


@pytest.mark.parametrize(
    ("replies", "value"),
    [
        ([useful(1), useful(4), useful(2)], 0.5),
        ([useful(0), useful(0), useful(4)], 0.0),
        ([ParseFailure("?"), useful(1), useful(3)], 0.5),
        ([ParseFailure("?"), ParseFailure("?"), useful(3)], None),
        # One is lost, and the two that are left contradict each other.
        ([JudgeError("timeout"), useful(0), useful(4)], None),
        ([JudgeError("timeout"), useful(4), useful(4)], 1.0),
    ],
)
def test_the_middle_of_three(replies: list[Any], value: float | None) -> None:
    row = judged(in_turn(*replies), Repeats(count=3))
    assert row["value"] == value
    assert len(json.loads(row["detail"])["replicates"]) == 3


def test_each_replicate_is_a_question_of_its_own() -> None:
    judge = in_turn(useful(1), useful(1), useful(1))
    judged(judge, Repeats(count=3))
    assert [request.replicate for request, _ in judge.asked] == [0, 1_000, 2_000]
    assert [origin.step for _, origin in judge.asked] == [0, 1, 2]


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        (useful(3), 5),  # 0.75 is the threshold itself
        (useful(4), 1),
        (useful(1), 1),
        (ParseFailure("?"), 1),
    ],
)
def test_only_what_is_near_the_threshold_is_judged_more_often(first: Any, asked: int) -> None:
    judge = in_turn(first, *[useful(2)] * 4)
    judged(judge, Repeats(escalated=5, margin=0.1))
    assert len(judge.asked) == asked


def test_a_number_says_how_often_its_verdict_turned() -> None:
    row = judged(in_turn(useful(4), useful(0), useful(4)), Repeats(count=3))
    assert json.loads(row["detail"])["replicates"] == [1.0, 0.0, 1.0]
