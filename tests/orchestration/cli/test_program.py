"""The program: help, unknown commands, exit codes and error messages."""

from __future__ import annotations

import errno
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
from tests.support.services import takes_minutes
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


def unread(folder: Path, *arguments: str, also_errors: bool = False) -> tuple[int, str]:
    """Run the command with a standard output that nobody reads; return exit code and errors."""
    end, beginning = os.pipe()
    os.close(end)
    done = subprocess.run(
        [sys.executable, "-m", "orchestration.cli", *arguments],
        cwd=folder,
        stdout=beginning,
        stderr=beginning if also_errors else subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(beginning)
    return done.returncode, done.stderr or ""


def test_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    assert unread(tmp_path, "evaluators") == (0, "")


def test_closed_pipe_of_errors_keeps_the_exit_code(tmp_path: Path) -> None:
    assert unread(tmp_path, "leaderboard", also_errors=True) == (2, "")


@takes_minutes
@pytest.mark.parametrize("options", [(), ("--format", "json")])
@pytest.mark.parametrize("also_errors", [False, True])
def test_closed_pipe_does_not_let_a_gate_pass(
    done_project: Path, tmp_path: Path, options: tuple[str, ...], *, also_errors: bool
) -> None:
    file = tmp_path / "gate.xml"
    arguments = ("gate", "--min", "citation.f1=0.9", "--junit", str(file), *options)
    code, messages = unread(done_project, *arguments, also_errors=also_errors)
    assert code == 1
    assert also_errors or "at least 0.9 is required" in messages
    assert 'failures="2"' in file.read_text(encoding="utf-8")
    assert unread(done_project, "gate", "--min", "citation.f1=0")[0] == 0


@takes_minutes
def test_closed_pipe_does_not_let_a_run_pass(
    own_project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = own_project / "scoreline.yaml"
    gate = "\ngates: [{benchmark: harbour, metrics: [citation.f1], min: 0.9}]\n"
    config.write_text(config.read_text(encoding="utf-8") + gate, encoding="utf-8")
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    first, again = unread(own_project, "run"), unread(own_project, "run", "--format", "json")
    assert (first[0], again[0]) == (1, 1)
    assert "2 of 2 gates failed; the results are published" in first[1]
    # The run has come to its end, so that there is nothing left to do.
    assert "nothing has changed since" in unread(own_project, "run")[1]
    assert summary.read_text(encoding="utf-8").count("# Evaluation\n") == 3


@takes_minutes
def test_no_standard_output_at_all(done_project: Path) -> None:
    command = 'exec "$0" -m "$1" gate --min citation.f1=0.9 >&-'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, "orchestration.cli"],
        cwd=done_project,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("error: a system does not pass:\n")


def test_another_broken_connection_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command("fail")
    def fail() -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(module.Program, "get_command", lambda *_: fail)
    code, _, err = invoke("fail")
    assert code == 2
    assert "Broken pipe" in err
