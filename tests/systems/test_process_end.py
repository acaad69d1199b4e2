"""No process of a system outlives the process that started it, however that ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.services import takes_minutes
from tests.systems.asking import wait_until_exists, wait_until_none_remains

ROOT = Path(__file__).parents[2]

PARENT = """
import asyncio, sys
from pathlib import Path
from systems.clients import make_client
from systems.settings import CommandSystem, PythonSystem

async def main():
    home = Path.cwd()
    settings = {
        "python": PythonSystem(name="rag", home=home, python="rag.py:answer"),
        "async": PythonSystem(name="rag", home=home, python="rag.py:answer_async"),
        "command": CommandSystem(name="rag", home=home, command=[sys.executable, "rag.py"]),
    }[sys.argv[1]]
    client = make_client(settings, [])
    try:
        await client.open()
        await client.ask(client.request({"question_id": "q"}), 0)
    finally:
        await client.close()

asyncio.run(main())
"""

HANGING = """
import re, subprocess, time

def answer(question):
    subprocess.Popen(["sleep", "1000"])
    open("hangs", "w").close()
    re.match("(a+)+$", "a" * 40 + "b")  # holds the interpreter's lock

async def answer_async(question):
    answer(question)

if __name__ == "__main__":
    answer(input())
"""


@takes_minutes
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("kind", ["python", "async", "command"])
def test_no_process_is_left(tmp_path: Path, kind: str, number: signal.Signals) -> None:
    (tmp_path / "rag.py").write_text(HANGING, encoding="utf-8")
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, kind],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        stderr=subprocess.PIPE,
    )
    try:
        wait_until_exists(tmp_path / "hangs")
        time.sleep(0.1)  # it reaches the expression that hangs
        started = psutil.Process(parent.pid).children(recursive=True)
        assert len(started) == 3  # the worker, its child and the guard
        parent.send_signal(number)
        _, errors = parent.communicate(timeout=30)
    finally:
        parent.kill()
    assert wait_until_none_remains(tmp_path) == []
    _, alive = psutil.wait_procs(started, timeout=10)
    assert alive == []
    assert (b"KeyboardInterrupt" in errors) == (number == signal.SIGINT)
    assert b"never awaited" not in errors
    assert b"was destroyed" not in errors
