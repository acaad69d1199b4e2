"""`scoreline problems`, `report` and `completion`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.orchestration.conftest import Ended, scoreline


def run(folder: Path, *arguments: str) -> Ended:
    """Run a command in this process on a project."""
    config = ["--config", str(folder / "scoreline.yaml")]
    result = CliRunner().invoke(program, [*arguments, *config], prog_name="scoreline")
    return Ended(result.exit_code, result.stdout, result.stderr)


def test_problems_are_listed_worst_first(done_project: Path) -> None:
    rows = json.loads(run(done_project, "problems", "--format", "json").out)
    assert [row["severity"] for row in rows] == ["medium"] * 2 + ["low"] * 3
    of_reader = run(done_project, "problems", "--system", "reader", "--format", "json")
    assert json.loads(of_reader.out) == [row for row in rows if row["system"] == "reader"]
    low = run(done_project, "problems", "--severity", "low", "--format", "json")
    assert json.loads(low.out) == rows[2:]
    none = run(done_project, "problems", "--severity", "high")
    assert (none.code, none.out, none.err) == (0, "", "no problems\n")
    empty = run(done_project, "problems", "--severity", "high", "--format", "json")
    assert json.loads(empty.out) == []


def test_problems_of_an_unknown_system(done_project: Path) -> None:
    ended = run(done_project, "problems", "--system", "reeder")
    assert ended.code == 2
    assert "there is no system 'reeder' (did you mean 'reader'?)" in ended.err


def test_the_report_has_an_address(done_project: Path, tmp_path: Path) -> None:
    ended = run(done_project, "report")
    page = done_project / "published" / "index.html"
    assert (ended.code, ended.out) == (0, f"{page.as_uri()}\n")
    copied = shutil.copytree(done_project, tmp_path / "copied")
    (copied / "published" / "index.html").unlink()
    missing = run(copied, "report")
    assert missing.code == 2
    assert "run `scoreline run` first" in missing.err


def test_the_report_opens_in_a_browser(done_project: Path, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}\n')
    browser.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ended = scoreline(done_project, "report", "--open", PATH=path, BROWSER=str(browser))
    assert ended.code == 0, ended.err
    page = done_project / "published" / "index.html"
    assert opened.read_text() in (str(page), page.as_uri())


def test_bash_completes_commands_and_options() -> None:
    program_folder = Path(sys.executable).parent
    script = f"""
    PATH={program_folder}:$PATH
    eval "$(scoreline completion bash)"
    complete -p scoreline
    COMP_WORDS=(scoreline prob) COMP_CWORD=1 COMP_TYPE=9
    _scoreline_completion scoreline
    printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "problems", done.stderr


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_of_other_shells(shell: str) -> None:
    result = CliRunner().invoke(program, ["completion", shell], prog_name="scoreline")
    assert result.exit_code == 0
    assert f"_SCORELINE_COMPLETE={shell}_complete" in result.stdout
