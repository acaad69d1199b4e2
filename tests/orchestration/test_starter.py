"""`scoreline init`: the files it writes, and that it overwrites nothing."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from assets.fingerprints.input_files import benchmark_files
from evaluators.catalog import build
from orchestration import starter
from orchestration.cli.program import program
from orchestration.config import load
from tests.support.command import scoreline
from tests.support.services import takes_minutes
from warehouse.formats.catalog import formats
from warehouse.formats.paths import expand
from warehouse.ingest.ingest import ingest
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path


def test_starter_is_a_complete_project(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "demo"
    result = CliRunner().invoke(program, ["init", str(folder)])
    assert result.exit_code == 0, result.output
    assert f"Next: cd {folder} && scoreline run" in result.stdout
    project = load.load_config(folder / "scoreline.yaml").project
    (benchmark,) = project.benchmarks.values()
    assert benchmark.questions is not None
    questions = [json.loads(line) for line in benchmark.questions.read_text().splitlines()]
    assert len(questions) == 6
    files = expand(benchmark.predictions)
    assert [system for _, system in files] == ["keyword", "reader"]
    for file, _ in files:
        answered = [json.loads(line)["question_id"] for line in file.read_text().splitlines()]
        assert answered == [question["question_id"] for question in questions]


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "data" / "questions.jsonl"
    mine.parent.mkdir()
    mine.write_text("mine")
    result = CliRunner().invoke(program, ["init", str(tmp_path)])
    assert result.exit_code == 2
    assert f"{mine}: already exists and is not overwritten" in result.stderr
    assert mine.read_text() == "mine"
    assert not (tmp_path / "scoreline.yaml").exists()


def test_git_ignores_what_runs_write_and_keys(tmp_path: Path) -> None:
    assert CliRunner().invoke(program, ["init", str(tmp_path)]).exit_code == 0
    written = [
        ".scoreline/warehouse.duckdb.ledger",
        "published/index.html",
        ".env",
        ".env.local",
        "__pycache__/metrics.cpython-312.pyc",
    ]
    for name in written:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    shown = subprocess.run(
        ["git", "status", "--short", "--untracked-files=all"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert {".gitignore", "scoreline.yaml", "data/questions.jsonl"} <= set(shown)
    assert not set(written) & set(shown)


def test_a_gitignore_of_the_folder_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("mine\n")
    result = CliRunner().invoke(program, ["init", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    assert ".gitignore" not in result.stdout
    assert (tmp_path / "scoreline.yaml").exists()


@pytest.mark.parametrize(
    ("ignored", "missing"),
    [
        ("mine\n", ".scoreline/, published/ and .env"),
        ("/.scoreline\npublished/\n# .env\n", ".env"),
        (".scoreline/\n.env*\npublished\n", None),
        (None, None),
    ],
)
def test_what_git_may_add_is_said(tmp_path: Path, ignored: str | None, missing: str | None) -> None:
    if ignored is not None:
        (tmp_path / ".gitignore").write_text(ignored)
    result = CliRunner().invoke(program, ["init", str(tmp_path)])
    assert result.exit_code == 0, result.output
    said = f"note: {tmp_path}/.gitignore does not ignore {missing}, so git may add"
    assert result.stderr.startswith(said) if missing else not result.stderr


def test_file_instead_of_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError, match="taken"):
        starter.write_starter(tmp_path / "taken")


EVERY_RUN = ("promptfoo", "ragas")
"""The formats whose starters the everyday tests run."""


@pytest.mark.parametrize("name", sorted(starter.starters()))
def test_the_starter_of_a_format_is_read(tmp_path: Path, name: str) -> None:
    result = CliRunner().invoke(program, ["init", str(tmp_path / "demo"), "--format", name])
    assert result.exit_code == 0, result.output
    project = load.load_config(tmp_path / "demo" / "scoreline.yaml").project
    (benchmark,) = project.benchmarks.values()
    assert benchmark.format == name
    if name == "inspect":
        pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    done = ingest(Warehouse(tmp_path / "w.duckdb"), [benchmark_files(benchmark)])
    problems = [str(each) for read in done.values() for each in read.problems]
    assert problems == []
    assert done["harbour", "questions"].rows == 6
    # A failed answer is left out where files hold none.
    assert done["harbour", "predictions"].rows in {11, 12}


@pytest.mark.parametrize(
    "name",
    [
        each if each in EVERY_RUN else pytest.param(each, marks=takes_minutes)
        for each in sorted(starter.starters())
    ],
)
def test_the_starter_of_a_format_gives_a_leaderboard(tmp_path: Path, name: str) -> None:
    if name == "inspect":
        pytest.importorskip("inspect_ai", reason="inspect_ai is not installed")
    starter.write_starter(tmp_path, name)
    ended = scoreline(tmp_path, "run")
    assert ended.code == 0, ended.err
    systems = r"mockllm/reader|reader", r"mockllm/keyword|keyword"
    assert all(re.search(each, ended.out) for each in systems)
    assert "No system has a score" not in ended.out
    assert "only system" not in ended.out


def test_every_format_of_another_tool_has_a_starter_that_needs_no_extra() -> None:
    for name, make in starter.starters().items():
        keys = yaml.safe_load(make().keys)
        parameters = {**formats()[name].parameters, **keys.get("parameters", {})}
        evaluators = [build(each, parameters.get(each, {})) for each in keys["evaluators"]]
        assert {lib for each in evaluators for lib in each.needed_libraries} <= {"regex"}, name


def test_an_unknown_format_suggests_a_similar_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(program, ["init", str(tmp_path / "x"), "--format", "promptfo"])
    assert result.exit_code == 2
    assert "no starter for the format 'promptfo'; did you mean 'promptfoo'?" in result.stderr
    assert not (tmp_path / "x").exists()
