"""The program: help, unknown commands, exit codes and error messages."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner

from orchestration.cli import program as module
from orchestration.cli.program import program
from orchestration.errors import ChecksFailed, SettingsNotFound
from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ["init", "run", "leaderboard", "sql", "evaluators", "clean", "dev", "doctor"]
HEAVY = {"polars", "duckdb", "dagster", "pydantic", "rich", "yaml"}


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(program, arguments, prog_name="scoreline")
    return result.exit_code, result.stdout, result.stderr


def test_help_lists_commands_in_order() -> None:
    code, out, _ = invoke("--help")
    assert code == 0
    shown = [line.split()[0] for line in out.partition("Commands:\n")[2].splitlines() if line[:2]]
    assert [name for name in shown if name in COMMANDS] == COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_command_help_has_examples_and_no_heavy_imports(name: str) -> None:
    code = (
        "import sys\n"
        "from orchestration.cli import main\n"
        f"sys.argv = ['scoreline', {name!r}, '--help']\n"
        "try:\n    main()\n"
        f"finally:\n    print(sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"  scoreline {name}" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_is_quick() -> None:
    """Measure processor time, the best of three, so that a busy machine does not matter."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "orchestration.cli", "--help"], capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(took) < 0.5


def test_no_garbage_collection_at_exit() -> None:
    code = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(len(gc.get_objects()), gc.get_freeze_count()))\n"
        "from orchestration.cli import main\n"
        "sys.argv = ['scoreline', '--version']\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    left, frozen = map(int, done.stdout.splitlines()[-1].split())
    assert frozen > 10 * left


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["leaderbord"], "there is no command 'leaderbord' (did you mean 'leaderboard'?)"),
        (["run", "--benchmrk", "x"], "No such option"),
        (["sql"], "Missing argument 'QUERY'"),
        (["leaderboard", "--format", "xml"], "'xml' is not one of"),
        (["evaluators", "citatoin"], "unknown evaluator 'citatoin' (did you mean 'citation'?)"),
    ],
)
def test_bad_usage(arguments: list[str], words: str) -> None:
    code, out, err = invoke(*arguments)
    assert code == 2
    assert words in err
    assert out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["run", "leaderboard", "dev", "sql"])
def test_missing_configuration_suggests_init(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = invoke(command, *(["SELECT 1"] if command == "sql" else []))
    assert (code, out) == (2, "")
    assert "'scoreline.yaml' does not exist; `scoreline init` writes one" in err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            InputError([Problem("data/q.jsonl", 7, "not JSON")]),
            2,
            "error: data/q.jsonl:7: not JSON",
        ),
        (SettingsNotFound("none here"), 2, "error: none here"),
        (ChecksFailed("check 'x' of y failed"), 1, "error: check 'x' of y failed"),
        (PermissionError(13, "Permission denied", "/x"), 2, "error: Permission denied: '/x'"),
        (
            ZeroDivisionError("by zero"),
            2,
            "ZeroDivisionError: by zero\nThis is a bug. Run the command with --debug",
        ),
        (KeyboardInterrupt(), 130, "cancelled by Ctrl-C"),
        (click.Abort(), 130, "cancelled by Ctrl-C"),
        (click.UsageError("so not"), 2, "so not"),
    ],
)
@pytest.mark.parametrize("debug", [None, "program", "command"])
def test_exceptions_become_messages_and_exit_codes(
    error: BaseException,
    code: int,
    words: str,
    debug: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @click.command("fail")
    @module.debug_option
    def fail() -> None:
        raise error

    monkeypatch.setattr(module.Program, "get_command", lambda *_: fail)
    arguments = [*(["--debug"] if debug == "program" else []), "fail"]
    found, out, err = invoke(*arguments, *(["--debug"] if debug == "command" else []))
    assert (found, out) == (code, "")
    shows_all = debug is not None and isinstance(error, Exception) and code in (1, 2)
    if shows_all and not isinstance(error, click.ClickException):
        assert "Traceback" in err
    else:
        assert words in err
        assert "Traceback" not in err


def test_closed_pipe_is_not_an_error() -> None:
    end, beginning = os.pipe()
    os.close(end)
    done = subprocess.run(
        [sys.executable, "-m", "orchestration.cli", "evaluators"],
        stdout=beginning,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(beginning)
    assert (done.returncode, done.stderr) == (0, "")
