"""Programs that answer one JSON object per line, and all that they can do wrong."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from typing import TYPE_CHECKING

import pytest

from calls.errors import CallFailure, TransientFailure
from systems import command_client
from systems.client import Answer, ReturnedError, SystemRefused, WrongShape
from systems.settings import CommandSystem
from tests.systems.asking import (
    PATIENCE_S,
    answer_text,
    ask,
    ask_all,
    opened,
    time_out,
    wait_until_none_remains,
)

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = r"""
import json, os, signal, subprocess, sys, time

def write(question_id, answer=None, end="\n", **fields):
    answer = f"{os.getpid()}" if answer is None else answer
    print(json.dumps({"question_id": question_id, "answer": answer, **fields}), end=end, flush=True)

for line in sys.stdin:
    question_id = json.loads(line)["question_id"]
    match question_id:
        case "fields": write(question_id, "x", contexts=["a"], tokens_out=4, extra={"k": "\ud800"})
        case "question": write(question_id, json.loads(line)["question"])
        case "blank":
            print("\r\n  ")
            write(question_id, "x", end="\r\n")
        case "slow parts":
            text = json.dumps({"question_id": question_id, "answer": "x"}) + "\n"
            for part in (text[:5], text[5:]):
                sys.stdout.write(part)
                sys.stdout.flush()
                time.sleep(0.1)
        case "large": write(question_id, "x" * 5_000_000)
        case "no newline":
            write(question_id, "x", end="")
            sys.exit(0)
        case "noise":
            print("Loading the model ...", flush=True)
            write(question_id)
        case "late":
            print("noise", flush=True)
            time.sleep(0.5)
            write(question_id)
        case "array": print("[1]")
        case "binary": sys.stdout.buffer.write(b"\xff\xfe\n")
        case "nan": print('{"question_id": "nan", "answer": "x", "cost_usd": NaN}')
        case "deep": print("[" * 100_000)
        case "big number": print('{"question_id": "big number", "tokens_in": 1' + "0" * 30 + "}")
        case "no id": print('{"answer": "x"}')
        case "number as id": print('{"question_id": 7, "answer": "x"}')
        case "unknown field": write(question_id, anwser="x")
        case "other":
            write("first")
            write(question_id)
        case "unknown": write("whose?")
        case "returned": write(question_id, error="no\nindex")
        case "too large": write(question_id, "x" * 64_000_001)
        case "die":
            print("first line\nlast line", file=sys.stderr)
            sys.exit(3)
        case "crash": os.kill(os.getpid(), signal.SIGABRT)
        case "hang": time.sleep(1000)
        case "children":
            subprocess.Popen(["sleep", "1000"])
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            open("children", "w").close()
            time.sleep(1000)
        case "deaf":
            os.close(0)
            time.sleep(1000)
        case "mute":
            sys.stdout.flush()
            os.close(1)
            time.sleep(1000)
        case "flood":
            sys.stderr.write("x" * 3_000_000 + "\n")
            write(question_id)
        case "secret":
            print("the key is sk-0123456789", file=sys.stderr)
            write(question_id)
        case "last": write(question_id); sys.exit(0)
        case "twice": write(question_id); write(question_id)
        case "sleep": time.sleep(0.5); write(question_id)
        case _: write(question_id)
    sys.stdout.flush()
"""

ANSWERS = {
    "fields": {"answer": "x", "contexts": ["a"], "extra": {"k": "?"}},
    "blank": {"answer": "x"},
    "slow parts": {"answer": "x"},
    "large": {"answer": "x" * 5_000_000},
    "no newline": {"answer": "x"},
}

OTHER = r"standard output: "
FAILURES: dict[str, tuple[type[CallFailure], str]] = {
    "noise": (WrongShape, OTHER + "expected one JSON object per line .*'Loading the model ...'"),
    "array": (WrongShape, OTHER + r"expected one JSON object per line, found \[1\]"),
    "binary": (WrongShape, OTHER + "expected one JSON object per line"),
    "nan": (WrongShape, OTHER + "expected one JSON object.*NaN is not JSON"),
    "deep": (WrongShape, OTHER + "expected one JSON object"),
    "big number": (WrongShape, OTHER + "tokens_in: expected JSON values .* found int"),
    "no id": (WrongShape, OTHER + "expected the text `question_id`"),
    "number as id": (WrongShape, OTHER + "expected the text `question_id`"),
    "unknown field": (WrongShape, "unknown field 'anwser' .*did you mean 'answer'"),
    "other": (WrongShape, OTHER + "a second answer to question 'first'"),
    "unknown": (WrongShape, OTHER + "an answer to question 'whose.', which was not asked"),
    "returned": (ReturnedError, "no index"),
    "too large": (WrongShape, OTHER + "a line has more than 64 MB"),
    "die": (TransientFailure, "ended with code 3; .* ends with: first line . last line"),
    "crash": (TransientFailure, r"ended with code -6 \(SIGABRT\)"),
    "mute": (TransientFailure, "it closed its standard output"),
}

LAST = "the last question"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "rag.py").write_text(PROGRAM, encoding="utf-8")
    return tmp_path


def system(home: Path, *command: str, concurrency: int = 1) -> CommandSystem:
    command = command or (sys.executable, "rag.py")
    return CommandSystem(name="rag", home=home, command=list(command), concurrency=concurrency)


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(home: Path, case: str) -> None:
    found = ask_all(system(home), "first", case, LAST)
    answer = found[case]
    assert isinstance(answer, Answer), answer
    assert answer.fields == ANSWERS[case]
    assert answer.tokens_out == (4 if case == "fields" else None)
    is_same = answer_text(found["first"]) == answer_text(found[LAST])
    assert is_same == (case != "no newline")
    assert wait_until_none_remains(home) == []


@pytest.mark.parametrize("case", FAILURES)
def test_failures(home: Path, case: str) -> None:
    kind, reason = FAILURES[case]
    found = ask_all(system(home), "first", case, LAST)
    failure = found[case]
    assert type(failure) is kind, failure
    with pytest.raises(kind, match=reason):
        raise failure
    assert "\n" not in str(failure)
    assert len(str(failure)) < 800
    answer_text(found[LAST])  # neither the late answer to the question before nor nothing
    assert wait_until_none_remains(home) == []


@pytest.mark.parametrize("over", [1, 0])
def test_the_limit_of_a_line_holds_where_its_end_was_read_with_it(
    home: Path, over: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = '{"question_id": "first", "answer": "yes"}'
    monkeypatch.setattr(command_client, "MAX_ANSWER_BYTES", len(answer) - over)
    (home / "rag.py").write_text(f"input(); print('{answer}\\n' * 2, end='', flush=True); input()")
    (found,) = ask_all(system(home), "first").values()
    assert isinstance(found, WrongShape if over else Answer)


def test_a_second_answer_is_not_taken_for_that_to_the_next_question(home: Path) -> None:
    found = ask_all(system(home), "twice", "a", "b")
    answer_text(found["twice"])
    assert isinstance(found["a"], WrongShape)
    assert "a second answer to question 'twice'" in str(found["a"])
    answer_text(found["b"])


def test_a_late_answer_is_not_taken_for_that_to_a_repeat(home: Path) -> None:
    async def run() -> None:
        async with opened(system(home)) as client:
            before = answer_text(await ask(client, "a"))
            assert isinstance(await ask(client, "late"), WrongShape)
            assert isinstance(await ask(client, "late"), WrongShape)
            assert answer_text(await ask(client, "a")) != before

    asyncio.run(run())


def test_a_program_may_end_after_each_answer(home: Path) -> None:
    async def run() -> set[str]:
        async with opened(system(home)) as client:
            return {answer_text(await ask(client, "last")) for _ in range(5)}

    assert len(asyncio.run(run())) == 5


@pytest.mark.parametrize("question_id", ["hang", "children", "deaf"])
def test_a_process_that_hangs_ends_with_its_children(home: Path, question_id: str) -> None:
    async def run() -> None:
        async with opened(system(home)) as client:
            await ask(client, "a")
            await time_out(client, home, question_id)
            assert await asyncio.to_thread(wait_until_none_remains, home) == []
            answer_text(await ask(client, "b"))

    asyncio.run(run())


def test_as_many_processes_as_calls_at_once(home: Path) -> None:
    async def run() -> set[str]:
        async with opened(system(home, concurrency=3)) as client:
            return {
                answer_text(e)
                for e in await asyncio.gather(*(ask(client, "sleep") for _ in "1234"))
            }

    assert len(asyncio.run(run())) == 3


def test_standard_error_goes_to_the_log(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_KEY", "sk-0123456789")
    with caplog.at_level(logging.INFO):
        found = ask_all(system(home), "secret", "flood")
    assert caplog.messages[0] == "rag: the key is ***"
    answer_text(found["flood"])


def test_a_shell_loop_around_another_program(home: Path) -> None:
    script = home / "rag.sh"
    script.write_text(
        "#!/bin/sh\n"
        "while read -r line; do\n"
        '  printf \'%s\' "$line" | sed \'s/"question"/"answer"/\'\n'
        "  echo\n"
        "done\n",
        encoding="utf-8",
    )
    script.chmod(0o755)

    async def run() -> str:
        async with opened(system(home, "./rag.sh")) as client:
            return answer_text(await ask(client, "q", PATIENCE_S, question="Zo\u00eb?"))

    assert asyncio.run(run()) == "Zo\u00eb?"


def test_it_runs_in_the_folder_of_the_configuration_and_its_own_group(home: Path) -> None:
    answer = '{\\"question_id\\": \\"a\\", \\"answer\\": \\"$PWD $$\\"}'
    found = ask_all(system(home, "sh", "-c", f'read line; echo "{answer}"; sleep 1'), "a")
    folder, process = answer_text(found["a"]).rsplit(" ", 1)
    assert folder == str(home)
    assert int(process) != os.getpgid(0)


def test_python_is_found_without_an_active_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "empty").mkdir()
    monkeypatch.setenv("PATH", str(home / "empty"))
    answer_text(ask_all(system(home, "python", "rag.py"), "a")["a"])


REFUSED = [
    ("no-such-program-of-mine", "there is no program 'no-such-program-of-mine' in the folders"),
    ("pytohn3", r"there is no program 'pytohn3' .*\(did you mean 'python3"),
    ("rag.sh", r"\(did you mean './rag.sh'\?\)"),
    ("./rga.sh", r"there is no program './rga.sh' in .*\(did you mean 'rag.sh'\?\)"),
    ("./rag.sh", "'./rag.sh' may not be executed: chmod"),
    ("./plain.sh", "'./plain.sh' is not a program; a script needs a first line"),
    ("./strange.sh", "the interpreter in the first line of './strange.sh' does not exist"),
]


@pytest.mark.parametrize(("program", "reason"), REFUSED)
def test_a_program_that_cannot_start_is_refused(home: Path, program: str, reason: str) -> None:
    for name, mode in (("rag.sh", 0o644), ("plain.sh", 0o755), ("strange.sh", 0o755)):
        content = "#!/no/such/shell\n" if name == "strange.sh" else "\x7fnothing\n"
        (home / name).write_text(content, encoding="utf-8")
        (home / name).chmod(mode)
    with pytest.raises(SystemRefused, match=reason):
        ask_all(system(home, program), "a")
