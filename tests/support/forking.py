"""A process that has loaded what commands need, and forks one for each line that it reads.

It must have nothing but imports behind it: no connection, no pool of threads, no picture drawn,
because a fork takes over the memory of such things but not their threads.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pkgutil
import runpy
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import assets
import records
from evaluators import library, statistics
from orchestration import cli
from warehouse import formats

LIBRARIES = (
    *("alembic.config", "altair", "duckdb", "pandas", "polars", "scipy.special"),
    *("dagster._core.storage.sqlite_storage", "orchestration.definitions"),
    *("orchestration.runs.run", "orchestration.runs.progress"),
)
PACKAGES = (assets, library, statistics, formats, records, cli)


def load() -> None:
    """Import what a run imports, by names and by whole packages of our own."""
    for name in LIBRARIES:
        importlib.import_module(name)
    for package in PACKAGES:
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)


def main() -> None:
    """Fork a command for each request; the forked process ends as the command does."""
    load()
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            # Without the end of the libraries in C++: they wait for threads that stayed behind.
            os._exit(become(json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the answer
    os._exit(0)


def become(request: dict[str, Any]) -> int:
    """Be `python -m orchestration.cli` with these arguments, in this folder and environment.

    Returns:
        The exit code, when all has been done that Python does at its exit.
    """
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, place in ((1, request["out"]), (2, request["err"])):
        opened = os.open(place, writing, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.path[0] = str(Path.cwd())
    sys.argv = ["scoreline", *request["arguments"]]
    try:
        runpy.run_module("orchestration.cli", run_name="__main__", alter_sys=True)
        code: object = 0
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - the outermost frame, as in the interpreter
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)  # noqa: T201
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    main()
