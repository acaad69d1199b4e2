"""Worker processes of Python functions: loading, hanging, dying, concurrency and the end."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING

import pytest

from calls.errors import TransientFailure
from systems.client import Answer, SystemRefused
from systems.settings import PythonSystem
from tests.support.services import takes_minutes
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

SOURCE = """
import asyncio, os, re, signal, subprocess, sys, tempfile, time
from pathlib import Path

COUNT = 0
with open("loads", "a") as file:
    file.write("x")
if Path("slow").exists():
    time.sleep(1)

def is_pipe(fd):
    try: return os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:")
    except OSError: return False

def has_met():
    return len(list(Path("begun").iterdir())) == int(Path("expected").read_text())

def answer(question):
    global COUNT
    COUNT += 1
    match question["question_id"]:
        case "exit": sys.exit(3)
        case "quit": os._exit(7)
        case "break in": [os.write(fd, b"x" * 16) for fd in range(3, 20) if is_pipe(fd)]
        case "crash": os.kill(os.getpid(), signal.SIGSEGV)
        case "quiet crash":
            os.close(2)
            os._exit(9)
        case "hang": time.sleep(1000)
        case "busy": re.match("(a+)+$", "a" * 40 + "b")  # holds the interpreter's lock
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                try: time.sleep(1000)
                except BaseException: pass
        case "children":
            subprocess.Popen(["sleep", "1000"])
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            Path("children").touch()
            time.sleep(1000)
        case "orphan":
            subprocess.Popen(["sleep", "1000"])
        case "print":
            print("from Python")
            print("from Python's standard error", file=sys.stderr)
            os.system("echo from a child")
            os.write(1, b"from the descriptor\\\\n")
            print("\\\\x1b[31mred\\\\udc80")
            print("key sk-0123456789")
        case "leak":
            return {
                "answer": "sk-01&23456789",
                "contexts": ["key=sk-01%2623456789", "sk-01&amp;23456789"],
                "extra": {"sk-01\\\\u002623456789": "c2stMDEmMjM0NTY3ODk="},
            }
        case "leaking error": raise ValueError("refused: c2stMDEmMjM0NTY3ODk=")
        case "sleep": time.sleep(0.5)
        case "meet":
            tempfile.mkstemp(dir="begun")
            while not has_met(): time.sleep(0.01)
        case "flood": sys.stderr.write("x" * 3_000_000)
    return f"{os.getpid()} {COUNT}"

async def answer_async(question):
    match question["question_id"]:
        case "sleep": await asyncio.sleep(0.5)
        case "meet":
            tempfile.mkstemp(dir="begun")
            while not has_met(): await asyncio.sleep(0.01)
        case "hang": await asyncio.sleep(1000)
        case "block": time.sleep(1000)
        case "exit": sys.exit(3)
        case "deaf":
            while True:
                try: await asyncio.sleep(1000)
                except asyncio.CancelledError: pass
        case "clean":
            try: await asyncio.sleep(1000)
            finally: Path("cleaned").touch()
    return f"{os.getpid()}"
""".replace("\\\\", "\\")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "rag.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def system(home: Path, function: str = "answer", concurrency: int = 4) -> PythonSystem:
    return PythonSystem(name="rag", home=home, python=f"rag.py:{function}", concurrency=concurrency)


def test_a_worker_stays_for_the_next_call(home: Path) -> None:
    found = ask_all(system(home), "a", "b", "c")
    processes, counts = zip(*(answer_text(each).split() for each in found.values()), strict=True)
    assert len(set(processes)) == 1
    assert counts == ("1", "2", "3")
    assert wait_until_none_remains(home) == []


@pytest.mark.parametrize(
    ("question_id", "reason"),
    [
        ("exit", "the process of the system ended with code 3"),
        ("quit", "the process of the system ended with code 7"),
        ("quiet crash", "the process of the system ended with code 9"),
        ("crash", r"the process of the system ended with code -11 \(SIGSEGV\)"),
    ],
)
def test_a_dead_worker_is_a_failed_transport_and_replaced(
    home: Path, question_id: str, reason: str
) -> None:
    found = ask_all(system(home), "a", question_id, "b")
    failure = found[question_id]
    assert isinstance(failure, TransientFailure)
    with pytest.raises(TransientFailure, match=reason):
        raise failure
    assert answer_text(found["a"]).split()[0] != answer_text(found["b"]).split()[0]


@pytest.mark.skipif(sys.platform != "linux", reason="finds the pipe in /proc")
def test_a_function_that_writes_to_the_pipe_of_answers_is_a_failed_transport(home: Path) -> None:
    found = ask_all(system(home), "break in", "a")
    assert isinstance(found["break in"], TransientFailure)
    answer_text(found["a"])


def test_a_dead_worker_of_async_functions_is_replaced(home: Path) -> None:
    found = ask_all(system(home, "answer_async"), "a", "exit", "b")
    assert "ended with code 3" in str(found["exit"])
    assert answer_text(found["a"]) != answer_text(found["b"])


@pytest.mark.parametrize("question_id", ["hang", "busy", "stubborn", "children"])
def test_a_call_that_hangs_ends_with_its_children(home: Path, question_id: str) -> None:
    async def run() -> None:
        async with opened(system(home)) as client:
            await ask(client, "a")
            await time_out(client, home, question_id)
            assert await asyncio.to_thread(wait_until_none_remains, home) == []
            assert answer_text(await ask(client, "b")).endswith(" 1")

    asyncio.run(run())
    assert wait_until_none_remains(home) == []


@pytest.mark.parametrize("function", ["answer", "answer_async"])
def test_a_worker_that_loads_is_not_lost_with_the_call_that_needed_it(
    home: Path, function: str
) -> None:
    async def run() -> None:
        async with opened(system(home, function)) as client:
            (home / "slow").touch()
            assert isinstance(await ask(client, "exit"), TransientFailure)
            assert isinstance(await ask(client, "a", limit_s=0.3), TimeoutError)
            answer_text(await ask(client, "a"))

    asyncio.run(run())
    assert (home / "loads").read_text() == "xx"


def test_processes_of_the_function_end_with_it(home: Path) -> None:
    answer_text(ask_all(system(home), "orphan")["orphan"])
    assert wait_until_none_remains(home) == []


@pytest.mark.parametrize("question_id", ["block", "deaf"])
def test_an_async_call_that_does_not_react_ends_the_worker(home: Path, question_id: str) -> None:
    async def run() -> None:
        async with opened(system(home, "answer_async")) as client:
            before = answer_text(await ask(client, "a"))
            waiting = asyncio.create_task(ask(client, "hang"))
            await asyncio.sleep(0)
            assert isinstance(await ask(client, question_id, limit_s=0.3), TimeoutError)
            beside = await waiting
            assert isinstance(beside, TransientFailure)
            assert "a cancelled call did not end" in str(beside)
            assert answer_text(await ask(client, "b")) != before

    asyncio.run(run())


@takes_minutes
def test_an_async_call_that_is_cancelled_cleans_up_and_spares_the_others(home: Path) -> None:
    async def run() -> None:
        async with opened(system(home, "answer_async")) as client:
            beside = asyncio.create_task(ask(client, "sleep"))
            assert isinstance(await ask(client, "clean", limit_s=0.2), TimeoutError)
            at_once = asyncio.create_task(ask(client, "clean"))
            await asyncio.sleep(0)
            at_once.cancel()
            await asyncio.sleep(2.5)  # longer than a worker that does not react is kept
            assert answer_text(await beside) == answer_text(await ask(client, "a"))

    asyncio.run(run())
    assert (home / "cleaned").exists()


@pytest.mark.parametrize(
    ("function", "concurrency", "questions"), [("answer", 8, 8), ("answer_async", 64, 64)]
)
def test_calls_run_at_once(home: Path, function: str, concurrency: int, questions: int) -> None:
    # Each answers when all have begun.
    (home / "begun").mkdir()
    (home / "expected").write_text(str(questions))

    async def run() -> set[str]:
        async with opened(system(home, function, concurrency)) as client:
            found = await asyncio.gather(*(ask(client, "meet") for _ in range(questions)))
            return {answer_text(each).split()[0] for each in found}

    assert len(asyncio.run(run())) == (8 if function == "answer" else 1)


def test_no_more_calls_run_than_allowed(home: Path) -> None:
    async def run() -> set[str]:
        async with opened(system(home, concurrency=2)) as client:
            found = await asyncio.gather(*(ask(client, "sleep") for _ in range(6)))
            return {answer_text(each).split()[0] for each in found}

    assert len(asyncio.run(run())) == 2


def test_prints_go_to_the_log(
    home: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_TOKEN", "sk-0123456789")
    with caplog.at_level(logging.INFO):
        answer_text(ask_all(system(home), "print")["print"])
    assert set(caplog.messages) == {
        "rag: from Python",
        "rag: from Python's standard error",
        "rag: from a child",
        "rag: from the descriptor",
        "rag: \ufffd[31mred\\udc80",
        "rag: key ***",
    }


def test_a_flood_of_prints_blocks_nothing(home: Path) -> None:
    answer_text(ask_all(system(home), "flood")["flood"])


LOADING = [
    ("missing.py", "answer", None, r"there is no file .*missing.py'.*did you mean 'raging.py'"),
    ("raging.py", "anser", "def answer(q): ...", "no function 'anser' .*did you mean 'answer'"),
    ("raging.py", "answer", "answer = 3", "'answer' in 'raging.py' is not a function but int"),
    ("raging.py", "answer", "def answer(q, k): ...", r"answer\(q, k\) cannot be called with one"),
    ("raging.py", "answer", "def answer(): ...", r"answer\(\) cannot be called with one"),
    (
        "raging.py",
        "answer",
        "x = 1\nif x\n",
        r"cannot be imported: SyntaxError: expected ':'.*\(raging.py:2\)",
    ),
    (
        "raging.py",
        "answer",
        "import json\n\njson.loads('{')\n",
        r"cannot be imported: JSONDecodeError.*\(raging.py:3\)",
    ),
    (
        "raging.py",
        "answer",
        "import broken",
        r"cannot be imported: ZeroDivisionError.*\(broken.py:3\)",
    ),
    ("raging.py", "answer", "import faizz", r"No module named 'faizz' \(raging.py:1\)"),
    (
        "raging.py",
        "answer",
        "import sys\nsys.exit(2)",
        r"cannot be imported: SystemExit: 2 \(raging.py:2\)",
    ),
    ("raging.py", "answer", "import os\nos._exit(5)", "cannot be loaded: .* ended with code 5"),
    ("no_such_module", "answer", None, "cannot be imported: .*No module named 'no_such_module'$"),
    ("no_such_package.rag", "answer", None, "No module named 'no_such_package'$"),
    ("broken", "answer", None, "name the file instead: broken.py"),
]


@pytest.mark.parametrize(("module", "function", "source", "reason"), LOADING)
def test_what_cannot_be_loaded_is_refused(
    tmp_path: Path, module: str, function: str, source: str | None, reason: str
) -> None:
    (tmp_path / "raging.py").write_text(source or "", encoding="utf-8")
    (tmp_path / "broken.py").write_text("\n\n1 / 0\n", encoding="utf-8")
    settings = PythonSystem(name="rag", home=tmp_path, python=f"{module}:{function}")
    with pytest.raises(SystemRefused, match=reason):
        ask_all(settings, "a")
    assert wait_until_none_remains(tmp_path) == []


def test_the_version_of_a_module_that_does_not_exist_can_be_computed(tmp_path: Path) -> None:
    for module in ("no_such_module", "no_such_package.rag"):
        settings = PythonSystem(name="rag", home=tmp_path, python=f"{module}:answer")
        assert settings.files() == ()


def test_the_code_finds_its_neighbours_its_data_and_no_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "client.py").write_text("NAME = 'beside'", encoding="utf-8")
    (tmp_path / "data.txt").write_text("data", encoding="utf-8")
    # Its name is that of a module of Python, which stays what it is.
    (folder / "json.py").write_text(
        "from dataclasses import dataclass\n"
        "from pathlib import Path\n"
        "import client, sys\n"
        "@dataclass\nclass Rag:\n"
        "    name: str\n"
        "    def __call__(self, question):\n"
        "        return self.name + Path('data.txt').read_text() + sys.stdin.read()\n"
        "answer = Rag(client.NAME)\n",
        encoding="utf-8",
    )
    settings = PythonSystem(name="rag", home=tmp_path, python="code/json.py:answer")
    assert answer_text(ask_all(settings, "a")["a"]) == "besidedata"


def test_modules_are_imported_as_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "rag_there.py").write_text(
        "import scoreline\nanswer = lambda q: q['question']\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    settings = PythonSystem(name="rag", home=tmp_path, python="rag_there:answer")

    async def run() -> str:
        async with opened(settings) as client:
            return answer_text(await ask(client, "a", PATIENCE_S, question="What? \ud800"))

    assert asyncio.run(run()) == "What? ?"


def test_the_key_of_a_request_has_no_gold_fields(home: Path) -> None:
    async def run() -> None:
        async with opened(system(home)) as client:
            question = {"question_id": "q", "question": "?", "tags": {"lang": "en"}}
            gold = {"expected_answer": ["yes"], "rubric": {}, "cluster": "c"}
            request = client.request({**question, **gold})
            assert request.key == question
            assert request.sent == {**question, **gold}
            assert client.most_usd(request) is None

    asyncio.run(run())


def test_keys_are_removed_from_what_a_function_returns(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_TOKEN", "sk-01&23456789")
    found = ask_all(system(home), "leak", "leaking error")
    answer = found["leak"]
    assert isinstance(answer, Answer)
    assert answer.fields["answer"] == "***"
    assert answer.fields["contexts"] == ["key=***", "***"]
    assert "23456789" not in repr(answer)
    assert "MDEmMjM0NTY3" not in repr(answer)
    assert "refused: ***" in str(found["leaking error"])
