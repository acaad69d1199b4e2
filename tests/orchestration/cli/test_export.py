"""`scoreline export` and `scoreline run --summary` on the starter project."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.support.services import takes_minutes
from warehouse.schema.tables import TABLES


@pytest.fixture
def invoke(done_project: Path) -> Any:
    """Run a command in this process on the starter project."""

    def run(*arguments: str) -> tuple[int, str, str]:
        config = ["--config", str(done_project / "scoreline.yaml")]
        result = CliRunner().invoke(program, [*arguments, *config], prog_name="scoreline")
        return result.exit_code, result.stdout, result.stderr

    return run


@takes_minutes
def test_each_format_prints_its_files(invoke: Any, tmp_path: Path) -> None:
    export = ("export", "--benchmark", "harbour", "--out", str(tmp_path / "new" / "folder"))
    code, out, err = invoke(*export, "--as", "evaluation-json")
    assert (code, err) == (0, "")
    results = json.loads((tmp_path / "new" / "folder" / "harbour_evaluation.json").read_text())
    assert set(results) == {"keyword", "reader"}
    assert out.strip().endswith("harbour_evaluation.json")

    code, out, _ = invoke(*export, "--as", "parquet")
    assert code == 0
    assert len(out.splitlines()) == len(TABLES)
    assert pl.read_parquet(tmp_path / "new" / "folder" / "leaderboard.parquet").height > 0

    code, out, _ = invoke(*export, "--as", "archive")
    assert code == 0
    with zipfile.ZipFile(out.strip()) as archive:
        assert "evaluators/citation/leaderboard.md" in archive.namelist()

    code, out, err = invoke(*export, "--as", "charts")
    assert (code, err) == (0, "")
    assert {Path(line).name for line in out.splitlines()} >= {"leaderboard.svg", "hardest.png"}
    assert all(Path(line).is_file() for line in out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--benchmark", "harbor", "--as", "archive"], "did you mean 'harbour'"),
        (["--benchmark", "harbour", "--as", "excel"], "'excel' is not one of"),
    ],
)
def test_unknown_names_exit_with_two(
    invoke: Any, tmp_path: Path, arguments: list[str], told: str
) -> None:
    code, out, err = invoke("export", *arguments, "--out", str(tmp_path))
    assert (code, out) == (2, "")
    assert told in err


@takes_minutes
def test_summary_replaces_leaderboard(invoke: Any, done_project: Path) -> None:
    code, out, err = invoke("run", "--summary")
    assert code == 0
    assert out.startswith("Evaluating harbour split outputs...\n")
    assert "CITATION EVALUATION RESULTS" in out
    assert "Evaluation results saved to: harbour_evaluation.json" in out
    assert (done_project / "published" / "harbour_evaluation.json").is_file()
    assert f"report: file://{done_project}/published/index.html" in err
