"""`scoreline run`: a first run, a second run, and failing runs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import duckdb
import pytest
from click.testing import CliRunner
from dagster import AssetKey, DagsterInstance, DagsterRunStatus

from orchestration.cli.program import program
from tests.orchestration.conftest import Ended, scoreline

if TYPE_CHECKING:
    from pathlib import Path


def test_the_first_run(first_run: Ended, done_project: Path) -> None:
    assert first_run.code == 0, first_run.err
    lines = first_run.out.splitlines()
    assert lines[0] == "harbour"
    assert lines[1].split()[0] == "citation"
    assert lines[2].split()[:4] == ["#", "system", "f1", "↑"]
    assert [line.split()[:6] for line in lines[4:6]] == [
        ["1", "(1", "to", "2)", "reader", "0.833"],
        ["2", "(1", "to", "2)", "keyword", "0.389"],
    ]
    assert first_run.err.splitlines()[-3:] == [
        "36 scored, 0 up to date (each answer, by each evaluator)",
        f"published in {done_project / 'published'}",
        f"report: {(done_project / 'published' / 'index.html').as_uri()}",
    ]
    for noise in ("dagster", "Warning", "evaluate -", "RUN_SUCCESS"):
        assert noise not in first_run.err
    assert (done_project / "published" / "scoreline.duckdb").is_file()


def test_run_is_recorded_in_the_instance(first_run: Ended, done_project: Path) -> None:
    assert first_run.code == 0
    home = done_project / ".scoreline" / "dagster"
    with DagsterInstance.from_config(str(home)) as instance:
        (run,) = instance.get_runs()
        assert run.status is DagsterRunStatus.SUCCESS
        assert run.job_name == "evaluate"
        assert run.tags["dagster/asset_partition_range_start"] == "harbour"
        event = instance.get_latest_materialization_event(AssetKey(["scores", "citation"]))
        assert event is not None
        assert event.asset_materialization is not None
        assert event.asset_materialization.partition == "harbour"


def test_second_run_scores_only_a_new_system(own_project: Path) -> None:
    again = scoreline(own_project, "run")
    assert again.code == 0, again.err
    assert "nothing has changed since: 0 scored" in again.err
    data = own_project / "data"
    text = (data / "predictions_reader.jsonl").read_text(encoding="utf-8")
    (data / "predictions_third.jsonl").write_text(text, encoding="utf-8")
    more = scoreline(own_project, "run", "--evaluator", "citation")
    assert more.code == 0, more.err
    assert "6 scored, 12 up to date" in more.err
    assert "third" in more.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--benchmark", "harbor"], "there is no benchmark 'harbor' (did you mean 'harbour'?)"),
        (["--system", "keywrd"], "there is no system 'keywrd' (did you mean 'keyword'?)"),
        (["--evaluator", "citatoin"], "unknown evaluator 'citatoin' (did you mean 'citation'?)"),
        (["--evaluator", "classification"], "there is no used evaluator 'classification'"),
    ],
)
def test_unknown_names(done_project: Path, arguments: list[str], words: str) -> None:
    config = ["--config", str(done_project / "scoreline.yaml")]
    result = CliRunner().invoke(program, ["run", *arguments, *config])
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr


def contents(folder: Path) -> list[object]:
    """Return all rows of the tables that a run writes, and the published copy."""
    tables = ("questions", "documents", "predictions", "grades", "leaderboard", "marks", "rejects")
    with duckdb.connect(folder / ".scoreline" / "warehouse.duckdb", read_only=True) as connection:
        rows = [connection.execute(f"FROM {table} ORDER BY ALL").fetchall() for table in tables]
    return [*rows, (folder / "published" / "scoreline.duckdb").read_bytes()]


def test_bad_input_reports_file_and_line_and_changes_nothing(own_project: Path) -> None:
    questions = own_project / "data" / "questions.jsonl"
    lines = questions.read_text(encoding="utf-8").splitlines()
    questions.write_text("\n".join([*lines[:3], '{"question_id": broken', *lines[4:]]))
    before = contents(own_project)
    ended = scoreline(own_project, "run")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {questions}:4: ")
    assert "Traceback" not in ended.err
    assert contents(own_project) == before


def test_failed_check_exits_with_1(own_project: Path) -> None:
    with duckdb.connect(own_project / ".scoreline" / "warehouse.duckdb") as connection:
        connection.execute("INSERT INTO questions SELECT * FROM questions LIMIT 1")
    with (own_project / "data" / "predictions_reader.jsonl").open("a") as file:
        file.write("\n")  # Where no file has changed, no run is started.
    ended = scoreline(own_project, "run")
    assert (ended.code, ended.out) == (1, "")
    assert "error: check 'as_described' of questions failed" in ended.err
    assert "Traceback" not in ended.err


def test_a_summary_for_programs(own_project: Path) -> None:
    assert scoreline(own_project, "run").code == 0
    unchanged = scoreline(own_project, "run", "--format", "json")
    scored = scoreline(own_project, "run", "--format", "json", "--force")
    for ended in (unchanged, scored):
        assert (ended.code, ended.err) == (0, "")
    before, after = json.loads(unchanged.out), json.loads(scored.out)
    assert (before["scored"], after["scored"]) == (0, 36)
    tables = after["benchmarks"]["harbour"]
    assert tables["verdict"] == before["benchmarks"]["harbour"]["verdict"]
    assert tables["verdict"].startswith("No winner on citation.f1: ")
    same = ("system", "evaluator", "metric", "slice", "mean", "ci_low", "rank", "n_scored")
    rows, earlier = tables["leaderboard"], before["benchmarks"]["harbour"]["leaderboard"]
    assert [[row[key] for key in same] for row in rows] == [
        [row[key] for key in same] for row in earlier
    ]
    assert {row["system"] for row in tables["leaderboard"]} == {"keyword", "reader"}
    assert {row["severity"] for row in tables["problems"]} == {"medium", "low"}
    assert tables["gates"] == []
    assert after["judge"] == dict.fromkeys(after["judge"], 0) | {"cost_usd": None}
    assert after["report"] == str(own_project / "published" / "index.html")


def test_a_quiet_run_prints_only_errors(own_project: Path) -> None:
    assert scoreline(own_project, "run", "--quiet") == Ended(0, "", "")
    failing = scoreline(own_project, "run", "--quiet", "--fail-on", "low")
    assert (failing.code, failing.out) == (1, "")
    assert failing.err.startswith("error: 5 problems are high or medium or low")
    assert len(failing.err.splitlines()) == 1
    assert scoreline(own_project, "run", "--quiet", "--fail-on", "high").code == 0


def test_a_run_writes_the_step_summary(own_project: Path, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    ended = scoreline(own_project, "run", GITHUB_STEP_SUMMARY=str(summary))
    assert ended.code == 0
    lines = summary.read_text().splitlines()
    assert lines[:2] == ["# Evaluation", ""]
    assert lines[2].startswith("* **harbour**: No winner on citation.f1: 6 questions are too few")
    assert lines[3:5] == ["", "## harbour"]
    assert any(line.startswith("| 1") and "reader" in line for line in lines)
    assert sum(line.startswith("* ") for line in lines) == 6
    assert "# Evaluation" not in ended.out
