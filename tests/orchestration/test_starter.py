"""`scoreline init`: the files it writes, and that it overwrites nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from orchestration import starter
from orchestration.cli.program import program
from orchestration.config import load
from warehouse.formats.paths import expand

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


def test_file_instead_of_folder(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError, match="taken"):
        starter.write_starter(tmp_path / "taken")
