"""Processes that take long to start: their start-up has a limit of its own."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest

from systems.client import Answer, SystemRefused, WrongShape
from systems.settings import CommandSystem, PythonSystem
from tests.support.services import takes_minutes
from tests.systems.asking import ask, opened

if TYPE_CHECKING:
    from pathlib import Path

    from calls.errors import CallFailure
    from systems.settings import SystemSettings

START_S = 1.0
LIMIT_S = 0.5

HEAVY = f"""
import json, sys, time
time.sleep({START_S})

def answer(question):
    if question["question_id"].startswith("slow"):
        time.sleep(100)
    return question["question_id"]

async def answer_async(question):
    return answer(question)

if __name__ == "__main__":
    for line in sys.stdin:
        question = json.loads(line)
        found = {{"question_id": question["question_id"], "answer": answer(question)}}
        print(json.dumps(found), flush=True)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "rag.py").write_text(HEAVY, encoding="utf-8")
    return tmp_path


def function(home: Path, name: str = "answer", start_timeout_s: float = 60.0) -> PythonSystem:
    return PythonSystem(
        name="rag",
        home=home,
        python=f"rag.py:{name}",
        concurrency=2,
        timeout_s=LIMIT_S,
        start_timeout_s=start_timeout_s,
    )


def program(home: Path, start_timeout_s: float = 60.0) -> CommandSystem:
    return CommandSystem(
        name="rag",
        home=home,
        command=[sys.executable, "rag.py"],
        concurrency=2,
        timeout_s=LIMIT_S,
        start_timeout_s=start_timeout_s,
    )


def ask_together(
    settings: SystemSettings, *question_ids: str
) -> list[Answer | CallFailure | TimeoutError]:
    async def run() -> list[Answer | CallFailure | TimeoutError]:
        async with opened(settings) as client:
            return await asyncio.gather(*(ask(client, each) for each in question_ids))

    return asyncio.run(run())


def assert_quick(found: object, answer: str) -> None:
    assert isinstance(found, Answer), repr(found)
    assert found.fields["answer"] == answer
    assert found.seconds is not None
    assert found.seconds < LIMIT_S


def test_a_second_worker_may_load_longer_than_a_call_may_take(home: Path) -> None:
    first, second = ask_together(function(home), "a", "b")
    assert_quick(first, "a")
    assert_quick(second, "b")


def test_a_program_may_start_longer_than_a_call_may_take(home: Path) -> None:
    first, second = ask_together(program(home), "a", "b")
    assert_quick(first, "a")
    assert_quick(second, "b")


@takes_minutes
@pytest.mark.parametrize("kind", [function, program])
def test_a_replacement_starts_within_the_limit_of_the_start(home: Path, kind: type) -> None:
    async def run() -> list[object]:
        async with opened(kind(home)) as client:
            return [await ask(client, each) for each in ("slow 1", "a", "slow 2", "b")]

    slow, first, again, second = asyncio.run(run())
    assert isinstance(slow, TimeoutError)
    assert_quick(first, "a")
    assert isinstance(again, TimeoutError)
    assert_quick(second, "b")


def test_an_async_call_has_the_limit_without_the_start(home: Path) -> None:
    (found,) = ask_together(function(home, "answer_async"), "a")
    assert_quick(found, "a")


def test_a_function_that_does_not_load_in_time_is_refused(home: Path) -> None:
    with pytest.raises(SystemRefused, match=r"loaded within 0\.2 s, the limit of start_timeout_s"):
        ask_together(function(home, start_timeout_s=0.2), "a")


def test_a_program_that_does_not_read_in_time_is_refused(home: Path) -> None:
    with pytest.raises(
        SystemRefused, match=r"question within 0\.2 s, the limit of start_timeout_s"
    ):
        ask_together(program(home, start_timeout_s=0.2), "a")


def test_what_a_program_writes_before_it_reads_is_no_answer(home: Path) -> None:
    (home / "rag.py").write_text("print('Loading ...')\n" + HEAVY, encoding="utf-8")
    (found,) = ask_together(program(home), "a")
    assert isinstance(found, WrongShape)


def test_a_question_larger_than_a_pipe_is_read(home: Path) -> None:
    async def run() -> object:
        async with opened(program(home)) as client:
            return await ask(client, "a", question="x" * 1_000_000)

    assert_quick(asyncio.run(run()), "a")
