"""Generated questions: shares of the kinds, and what a larger number of questions changes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from assets.judging.test_sets.judge import JudgeSession
from assets.judging.test_sets.questions import MAX_PROPOSALS, generate_questions
from evaluators.components.test_sets.kinds import KINDS
from tests.support.scripted_judge import Scripted
from tests.support.ship_judge import documents, reply
from warehouse.formats.test_sets import DocumentText

if TYPE_CHECKING:
    from assets.judging.test_sets.result import GeneratedRows
    from evaluators.flows.requests import Ask


def corpus(count: int) -> list[DocumentText]:
    """Documents of six sentences."""
    return [
        DocumentText(each["doc_id"], {f"S{at}": text for at, text in enumerate(each["sentences"])})
        for each in documents(count, sentences=6)
    ]


def unreliable(request: Ask[Any]) -> dict[str, Any]:
    """Reply rightly, but propose a wrong answer or an answerable question in a third of cases."""
    messages = request.prompt.messages(request.reply)
    right = reply(messages)
    digest = hashlib.sha256(messages[1]["content"].encode()).digest()
    if "question" in right and digest[0] % 3 == 0:
        if "answer" in right:
            return right | {"answer": "99 crates"}
        return right | {"question": right["question"].replace("Who is the captain of", "Where is")}
    return right


def generated(n: int, count: int = 10, kinds: tuple[Any, ...] = KINDS) -> GeneratedRows:
    session = JudgeSession(Scripted(unreliable))
    return generate_questions(session, corpus(count), kinds, n=n, seed=1)


def test_a_larger_number_extends_a_smaller_one() -> None:
    most = generated(60)
    assert len(most.rows) == 60
    assert len(most.rejected) > 10
    for n in (1, 2, 3, 7, 20, 41, 59):
        fewer = generated(n)
        assert fewer.rows == most.rows[:n]
        assert [row for row in most.rejected if row in fewer.rejected] == fewer.rejected


@pytest.mark.parametrize(("n", "shares"), [(7, [3, 2, 2]), (2, [1, 1, 0]), (6, [2, 2, 2])])
def test_kinds_take_turns(n: int, shares: list[int]) -> None:
    made = [row["tags"]["kind"] for row in generated(n).rows]
    assert made == [KINDS[at % len(KINDS)] for at in range(n)]
    assert [made.count(kind) for kind in KINDS] == shares


def test_the_end_of_the_documents_is_noted() -> None:
    made = generated(100, count=1, kinds=("simple",))
    assert len(made.rows) + len(made.rejected) == 6
    assert made.notes == [
        f"simple: {len(made.rows)} of 100 after 6 proposals: each sentence had its turn"
    ]


def test_a_judge_that_is_always_wrong_is_not_asked_for_ever() -> None:
    wrong = Scripted(
        lambda request: reply(request.prompt.messages(request.reply)) | {"sentences": ["s99"]}
    )
    made = generate_questions(JudgeSession(wrong), corpus(10), ("simple",), n=5, seed=0)
    assert made.rows == []
    assert len(wrong.asked) == len(made.rejected) == 5 * MAX_PROPOSALS
    assert made.notes == ["simple: 0 of 5 after 20 proposals: the others were rejected"]


def test_documents_that_are_empty_or_too_long_are_left_out() -> None:
    long = DocumentText("long", {"S1": "The ship A7 carries 10 crates of tea. " * 2_000})
    texts = [*corpus(1), long, DocumentText("empty", {})]
    made = generate_questions(JudgeSession(Scripted(unreliable)), texts, ("simple",), n=1, seed=0)
    assert made.notes == ["documents left out: 2: without text, or longer than 60,000 characters"]
    assert {row["doc_id"] for row in made.rows} == {"harbour-0"}
