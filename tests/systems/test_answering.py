"""Questions are asked once; failures, rates and budgets are kept as they are promised."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from assets.inputs.ask import fault_of
from calls.errors import TransientFailure
from systems import asker
from systems.answering import SystemCalls, answer_questions
from systems.client import ReturnedError, SystemRefused, WrongShape, as_answer
from tests.support.ledgers import FolderLedger
from tests.systems.scripted_system import Asked, questions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asker, "FIRST_PAUSE_S", 0.01)


def test_an_answer_is_asked_for_once_for_each_version(asking: Callable[..., Asked]) -> None:
    asked = asking()
    assert asked.ask().tally == {"asked": 8}
    assert asked.ask().tally == {"held": 8}
    assert asked.ask(10).tally == {"held": 8, "asked": 2}
    assert asked.ask(version="2").tally == {"asked": 8}
    assert asked.ask(name="twin").tally == {"asked": 8}
    assert asked.ask(concurrency=3, timeout_s=1, retries=2, budget_usd=None).tally == {"held": 8}
    found = asked.ask()
    assert {each["answer"] for each in asked.predictions(found).values()} == {
        f"about q{number}" for number in range(8)
    }


def test_force_asks_again_and_the_new_answer_counts(asking: Callable[..., Asked]) -> None:
    asked = asking()
    asked.ask()
    asked.system.reply = lambda question: f"new answer to {question}"
    found = asked.ask(force=True)
    assert found.tally == {"asked": 8}
    assert asked.predictions(found)["q3"]["answer"] == "new answer to q3"
    assert asked.predictions(asked.ask())["q3"]["answer"] == "new answer to q3"
    assert set(asked.system.asked.values()) == {2}


def test_a_limit_asks_the_first_questions_and_keeps_known_answers(
    asking: Callable[..., Asked],
) -> None:
    asked = asking()
    assert sorted(asked.ask(limit=3).digests) == [("q0", 0), ("q1", 0), ("q2", 0)]
    asked.ask(5)
    found = asked.ask(8, limit=2)
    assert found.tally == {"held": 5}
    assert len(found.digests) == 5


def test_no_more_than_the_concurrency_are_in_progress(asking: Callable[..., Asked]) -> None:
    asked = asking(seconds=0.01)
    asked.ask(40, concurrency=5)
    assert asked.system.most_at_once == 5


def test_a_failed_transport_is_tried_again_and_then_by_the_next_run(
    asking: Callable[..., Asked],
) -> None:
    down = {"q2", "q5"}

    def reply(question: str) -> str:
        if question in down:
            raise TransientFailure("transport: the connection was lost")
        return question

    asked = asking(reply=reply)
    found = asked.ask(retries=2)
    assert found.tally == {"asked": 8, "failed": 2}
    assert asked.system.asked["q2"] == 3
    assert asked.predictions(found)["q2"] == {"error": "transport: the connection was lost"}
    down.clear()
    found = asked.ask()
    assert found.tally == {"held": 6, "asked": 2}
    assert asked.predictions(found)["q2"]["answer"] == "q2"


def test_a_retry_may_succeed_and_counts_as_one_answer(asking: Callable[..., Asked]) -> None:
    asked = asking()

    def reply(question: str) -> str:
        if asked.system.asked[question] < 3:
            raise TransientFailure("rate_limit", retry_after=0.01, busy=True)
        return question

    asked.system.reply = reply
    assert asked.ask(4, retries=2).tally == {"asked": 4}
    assert {each.attempts for each in asked.ledger.kept} == {3}


def test_a_server_that_asks_to_wait_too_long_fails_at_once(asking: Callable[..., Asked]) -> None:
    def reply(_: str) -> str:
        raise TransientFailure("rate_limit", retry_after=asker.PATIENCE_S + 1, busy=True)

    asked = asking(reply=reply)
    assert asked.ask(1, retries=5).tally == {"asked": 1, "failed": 1}
    assert asked.system.asked == {"q0": 1}


def test_an_answer_that_takes_too_long_is_a_failed_transport(asking: Callable[..., Asked]) -> None:
    asked = asking(seconds=5)
    found = asked.ask(2, timeout_s=0.05)
    assert found.tally == {"asked": 2, "failed": 2}
    assert asked.predictions(found)["q0"] == {"error": "timeout: no answer within 0.05 s"}


def test_an_error_of_the_system_is_kept(asking: Callable[..., Asked]) -> None:
    def reply(question: str) -> Any:
        if question == "q1":
            return {"error": "no\nindex"}
        if question == "q2":
            raise ReturnedError("ValueError: no (rag.py:3)")
        return {"answer": question, "latency_s": 9.5, "cost_usd": 0.25, "tokens_in": 7}

    asked = asking(reply=reply)
    found = asked.ask(3)
    assert found.tally == {"asked": 3, "errors": 2}
    assert asked.ask(3).tally == {"held": 3}
    assert asked.predictions(found) == {
        "q0": {"answer": "q0", "latency_s": 9.5, "cost_usd": 0.25},
        "q1": {"error": "no index"},
        "q2": {"error": "ValueError: no (rag.py:3)"},
    }
    by_question = {each.call.messages[0]: each for each in asked.ledger.kept}
    answered = by_question["q0"]  # type: ignore[index]
    assert (answered.tokens_in, answered.cost_usd, answered.latency_s) == (7, 0.25, 9.5)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (3, "expected a text or an object with fields of a prediction, found int: 3"),
        ({"answr": "x"}, r"unknown field 'answr' \(did you mean 'answer'\?\)"),
        ({}, "expected at least one of answer, contexts"),
        ({"answer": 3}, "answer: expected text, found the number 3"),
        ({"contexts": "one"}, "contexts: expected a list"),
        ({"answer": "x", "tokens_in": 1.5}, "tokens_in: expected a whole number, found 1.5"),
        ({"answer": "x", "extra": {"a": float("nan")}}, "JSON"),
    ],
)
def test_a_wrong_shape_ends_the_run_if_it_is_the_first_answer(
    asking: Callable[..., Asked], reply: Any, message: str
) -> None:
    asked = asking(reply=lambda _: reply)
    with pytest.raises(SystemRefused, match="the first answer of the system 'scripted'") as raised:
        asked.ask(20)
    raised.match(message)
    assert asked.system.asked == {"q0": 1}
    (stored,) = asked.ledger.kept
    assert (stored.reply, stored.status.value) == (None, "target_error")


def test_a_later_wrong_shape_is_a_failed_answer(asking: Callable[..., Asked]) -> None:
    asked = asking(reply=lambda question: 3 if question == "q4" else question)
    found = asked.ask()
    assert found.tally == {"asked": 8, "errors": 1}
    assert "found int" in asked.predictions(found)["q4"]["error"]
    assert asked.ask().tally == {"held": 8}
    # Something is known of the answers of this version.
    asked.system.reply = lambda _: 3
    assert asked.ask(9).tally == {"held": 8, "asked": 1, "errors": 1}


def test_a_refusal_ends_the_run_and_keeps_what_came(asking: Callable[..., Asked]) -> None:
    def reply(question: str) -> str:
        if question == "q9":
            raise SystemRefused("the system 'scripted': status 401")
        return question

    asked = asking(reply=reply)
    with pytest.raises(SystemRefused, match="status 401"):
        asked.ask(100, concurrency=2)
    asked.system.reply = str
    # A reply may have been stored although its call was cancelled by then.
    kept, sent = len(asked.ledger.kept), len(asked.system.asked)
    again = asked.ask(100).tally
    assert 5 <= kept <= again["held"] < sent < 20
    assert again["held"] + again["asked"] == 100


def test_a_system_that_is_down_is_not_asked_every_question(asking: Callable[..., Asked]) -> None:
    def reply(_: str) -> str:
        raise TransientFailure("transport: no connection")

    asked = asking(reply=reply)
    found = asked.ask(200, concurrency=4, retries=1)
    assert found.tally == {"asked": 200, "failed": 200}
    assert sum(asked.system.asked.values()) < 40
    errors = {each["error"] for each in asked.predictions(found).values()}
    assert any(error.startswith("not asked: ") for error in errors)
    asked.system.reply = str
    assert asked.ask(200).tally == {"asked": 200}


def test_requests_per_minute_are_kept(asking: Callable[..., Asked]) -> None:
    asked = asking()
    # A second's worth of starts is allowed at once.
    assert asked.ask(12, requests_per_minute=600).tally == {"asked": 12}
    starts = sorted(each.judged_at for each in asked.ledger.kept)
    assert (starts[-1] - starts[0]).total_seconds() >= 0.1


def test_two_processes_ask_each_question_once(asking: Callable[..., Asked], tmp_path: Path) -> None:
    asked = asking(seconds=0.02)
    other = FolderLedger(tmp_path, "other")

    def ask(ledger: FolderLedger) -> None:
        calls = SystemCalls(asked.settings(concurrency=4), questions(40))
        asyncio.run(answer_questions(calls, ledger, fault_of))

    threads = [threading.Thread(target=ask, args=(each,)) for each in (asked.ledger, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(asked.system.asked.values()) == {1}
    assert len(asked.system.asked) == 40


def test_stored_replies_are_json_with_the_measured_latency(asking: Callable[..., Asked]) -> None:
    asked = asking(seconds=0.02)
    asked.ask(1)
    reply = json.loads(asked.ledger.last.reply or "")
    assert reply["answer"] == "about q0"
    assert reply["latency_s"] >= 0.02


@pytest.mark.parametrize("value", [b"x", object(), ["a"], None, 1.5, True])
def test_only_texts_and_objects_are_answers(value: Any) -> None:
    with pytest.raises(WrongShape, match="expected a text or an object"):
        as_answer(value)


def test_a_forced_question_without_an_answer_keeps_the_old_one(
    asking: Callable[..., Asked],
) -> None:
    asked = asking()
    asked.ask(6)

    def reply(_: str) -> str:
        raise TransientFailure("transport: no connection")

    asked.system.reply = reply
    found = asked.ask(6, force=True, concurrency=1)
    assert found.tally == {"asked": 6, "failed": 6}
    assert asked.predictions(found)["q4"]["answer"] == "about q4"


def test_the_first_answer_may_come_after_failed_transports(asking: Callable[..., Asked]) -> None:
    def reply(question: str) -> Any:
        if question == "q0":
            raise TransientFailure("timeout")
        return 3

    with pytest.raises(SystemRefused, match="found int: 3"):
        asking(reply=reply).ask(6)


def test_answers_of_earlier_runs_make_a_system_known(asking: Callable[..., Asked]) -> None:
    asked = asking()
    calls = SystemCalls(asked.settings(), questions(5)[1:])
    asyncio.run(answer_questions(calls, asked.ledger, fault_of))
    asked.system.reply = lambda _: 3
    assert asked.ask(5).tally == {"held": 4, "asked": 1, "errors": 1}


def test_the_failure_of_another_process_is_no_answer(
    asking: Callable[..., Asked], tmp_path: Path
) -> None:
    asked = asking(seconds=0.3)

    def reply(_: str) -> str:
        raise TransientFailure("transport: no connection")

    asked.system.reply = reply
    other = FolderLedger(tmp_path, "other")
    tallies = []

    def ask(ledger: FolderLedger) -> None:
        calls = SystemCalls(asked.settings(), questions(1))
        tallies.append(asyncio.run(answer_questions(calls, ledger, fault_of)).tally)

    threads = [threading.Thread(target=ask, args=(each,)) for each in (asked.ledger, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [tally["failed"] for tally in tallies] == [1, 1]
    assert sum(tally["held"] for tally in tallies) == 0


def test_a_system_that_is_down_is_given_up_without_waiting(asking: Callable[..., Asked]) -> None:
    def reply(_: str) -> str:
        raise TransientFailure("rate_limit", retry_after=0.2, busy=True)

    asked = asking(reply=reply)
    asked.ask(60, concurrency=1, retries=1)
    # Only the questions before the system was given up wait for their retries.
    assert sum(asked.system.asked.values()) <= 8


@pytest.mark.parametrize("value", [2**70, json.loads("[" * 300 + "]" * 300)])
def test_values_that_no_file_can_hold_are_a_wrong_shape(
    asking: Callable[..., Asked], value: Any
) -> None:
    asked = asking(
        reply=lambda question: {
            "answer": question,
            "extra": {} if question == "q0" else {"value": value},
        }
    )
    assert asked.ask(3).tally == {"asked": 3, "errors": 2}
    with pytest.raises(WrongShape, match="tokens_in: expected 0 to"):
        as_answer({"answer": "x", "tokens_in": 2**70})
