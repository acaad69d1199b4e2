"""Rewritten questions: what the judge and the check see, and what is rejected for what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from calls.call import Origin
from evaluators.components.test_sets.kinds import REWRITE_KINDS
from evaluators.components.test_sets.rewrites import REWRITES, Rewrite, rewrite_question
from evaluators.flows.protocols import Engines
from evaluators.flows.scheduler import Scheduler
from evaluators.outcome import JudgeError
from tests.support.scripted_judge import Scripted, by_form, in_turn

if TYPE_CHECKING:
    from evaluators.components.test_sets.kinds import RewriteKind

QUESTION = "When does ferry 7 sail?"
GOOD = {"reasoning": "-", "question": "At what time\ndoes ferry 7 depart?"}
SAME = {"reasoning": "-", "same": True, "in_language": True}


def test_every_kind_has_an_instruction_of_its_own() -> None:
    assert set(REWRITES) == set(REWRITE_KINDS)
    assert len({each.digest for each in REWRITES.values()}) == len(REWRITE_KINDS)


def rewrite(
    judge: Scripted, kind: RewriteKind = "paraphrase", language: str | None = None
) -> Rewrite:
    flow = rewrite_question(kind, QUESTION, language)
    origin = Origin("b", "s", "q", "e", 0)
    ((_, result),) = Scheduler[Rewrite](Engines(judge=judge)).run([(origin, flow)])
    assert isinstance(result, Rewrite)
    return result


def shown(judge: Scripted, call: int) -> str:
    request, _ = judge.asked[call]
    content: str = request.prompt.messages(request.reply)[1]["content"]
    return content


def test_a_question_in_other_words_is_checked_beside_the_original() -> None:
    judge = in_turn(GOOD, SAME)
    assert rewrite(judge) == Rewrite("At what time does ferry 7 depart?")
    assert f"\n{QUESTION}\n" in shown(judge, 0)
    assert "<<language " not in shown(judge, 0) + shown(judge, 1)
    assert f"\n{QUESTION}\n" in shown(judge, 1)
    assert "\nAt what time does ferry 7 depart?\n" in shown(judge, 1)


def test_a_translation_names_its_language_in_both_calls() -> None:
    judge = in_turn({"reasoning": "-", "question": "Wann fährt Fähre 7?"}, SAME)
    assert rewrite(judge, "language", "German") == Rewrite("Wann fährt Fähre 7?")
    assert all("\nGerman\n" in shown(judge, call) for call in (0, 1))


@pytest.mark.parametrize(
    ("draft", "check", "reason"),
    [
        ({"question": " "}, {}, "the question is empty"),
        ({"question": "when DOES ferry 7 sail"}, {}, "the question has the same words as before"),
        ({"question": "When does the ferry depart?"}, {}, "the question lacks the number 7"),
        ({"question": None}, {}, "the rewritten question: parse_failure: "),
        ({}, {"same": False}, "the check says that it asks for something else"),
        ({}, {"in_language": False}, "the check says that it is not in its language"),
        ({}, {"same": "yes"}, "the check: parse_failure: "),
    ],
)
def test_what_the_check_does_not_confirm_is_rejected(
    draft: dict[str, Any], check: dict[str, Any], reason: str
) -> None:
    result = rewrite(by_form(Rewritten=GOOD | draft, SameQuestion=SAME | check))
    assert reason in (result.rejection or "")
    assert not result.is_unanswered


def test_a_translation_may_write_numbers_in_its_own_way() -> None:
    judge = in_turn({"reasoning": "-", "question": "متى تبحر العبارة \u0667؟"}, SAME)
    assert rewrite(judge, "language", "Arabic").rejection is None


def test_a_rejected_translation_names_the_language() -> None:
    judge = in_turn(GOOD, SAME | {"in_language": False})
    result = rewrite(judge, "language", "German")
    assert result.rejection == "the check says that it is not in German"


def test_a_judge_without_a_reply_rejects_nothing_for_good() -> None:
    first = rewrite(in_turn(JudgeError("busy")))
    assert first == Rewrite(None, "the rewritten question: judge_error: busy", is_unanswered=True)
    second = rewrite(in_turn(GOOD, JudgeError("busy")))
    assert second.text is not None
    assert second.is_unanswered
