"""The real command in a process of its own, forked from one that has everything loaded.

A process that starts from nothing spends seconds on imports, and there are hundreds of commands.
What a forked one does is what `python -m orchestration.cli` does from its first line to its exit
code; only what it imports is there already. `fresh` starts from nothing, for tests of just that.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

ROOT = Path(__file__).parents[2]
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class Ended:
    """What a process left behind."""

    code: int
    out: str
    err: str

    @property
    def messages(self) -> str:
        """Standard error without the progress, which depends on the speed of the machine."""
        return without_progress(self.err)


def without_progress(err: str) -> str:
    """Return standard error without the lines of progress."""
    return re.sub(r"(?m)^.+ \(\d+ s\)\n", "", err)


def scoreline(folder: Path, *arguments: str, **variables: str) -> Ended:
    """Runs the command in a folder, in a process of its own, with no terminal."""
    with TemporaryDirectory() as beside:
        out, err = Path(beside, "out"), Path(beside, "err")
        request = {
            "arguments": arguments,
            "folder": str(folder),
            "environment": _environment(variables),
            "out": str(out),
            "err": str(err),
        }
        with _ONE_AT_A_TIME:
            server = _server()
            assert server.stdin is not None
            assert server.stdout is not None
            try:
                print(json.dumps(request), file=server.stdin, flush=True)
                answer = server.stdout.readline()
            except BaseException:
                # A test that took too long: its answer must not become that of the next, and
                # what it was waiting for is to end with it.
                os.killpg(server.pid, signal.SIGKILL)
                _server.cache_clear()
                raise
        assert answer, "the process from which commands are forked has ended"
        return Ended(int(answer), out.read_text("utf-8"), err.read_text("utf-8"))


def fresh(folder: Path, *arguments: str, **variables: str) -> Ended:
    """The same by the installed program, which imports everything itself."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("scoreline")), *arguments],
        cwd=folder,
        env=_environment(variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _environment(variables: dict[str, str]) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"}
    return {**kept, **variables}


@cache
def _server() -> subprocess.Popen[str]:
    """The process with everything loaded; it ends when nobody can ask it any more."""
    started = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forking"],
        cwd=ROOT,
        env=_environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(_stop, started)
    return started


def _stop(server: subprocess.Popen[str]) -> None:
    server.communicate()
