"""`scoreline clean`: what it removes, what it keeps, and dry runs."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from click.testing import CliRunner
from dagster import DagsterInstance

from orchestration.cleanup import NAMES, find_items
from orchestration.cli.program import program
from orchestration.config import load
from orchestration.definitions import build_definitions
from orchestration.instance import home
from orchestration.jobs import EVALUATE, range_tags
from tests.support.services import takes_minutes
from warehouse.errors import NoSpace
from warehouse.maintenance import retention
from warehouse.maintenance.compact import Space, compact, measure_space
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from assets.project import Project

NOW = datetime.now(UTC).replace(tzinfo=None)


def judgment(digest: str, age_days: float) -> dict[str, Any]:
    return {
        "digest": digest,
        "model": "m",
        "messages": "[]",
        "replicate": 0,
        "status": "scored",
        "cost_usd": 1.0,
        "judged_at": NOW - timedelta(days=age_days),
    }


@pytest.fixture
def project(own_project: Path) -> Project:
    """A project that was run today, with data from a hundred days ago."""
    found = load.load_config(own_project / "scoreline.yaml").project
    warehouse = Warehouse(found.warehouse)
    with warehouse.transaction() as transaction:
        transaction.execute(
            "INSERT INTO leaderboard_history BY NAME SELECT * REPLACE "
            "(published_at - INTERVAL 100 DAY AS published_at) FROM leaderboard_history"
        )
        transaction.append(
            "judgments", pl.DataFrame([judgment("old", 100), judgment("new", 1), judgment("a", 99)])
        )
        ask = {"benchmark": "b", "system": "s", "question_id": "q", "evaluator": "e", "step": 0}
        transaction.append("asks", pl.DataFrame([{**ask, "digest": "a"}]))
        old = {"run_id": "r", "table": "t", "expectation": "x", "success": 1, "severity": "warn"}
        transaction.append("validations", pl.DataFrame([old]))
    return found


def cleaned(project: Project, *arguments: str) -> str:
    config = str(project.home / "scoreline.yaml")
    result = CliRunner().invoke(program, ["clean", *arguments, "--config", config])
    assert result.exit_code == 0, result.output
    return result.output


def everything(project: Project) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in project.warehouse.parent.rglob("*")
        if path.is_file() and path.suffix in (".duckdb", ".jsonl", ".yaml")
    }


def test_dry_run_changes_nothing(project: Project) -> None:
    before = everything(project)
    said = cleaned(project)
    assert "judgments: 1 rows" in said
    assert "(removed only by name)" in said
    assert "nothing was removed: use --yes" in said
    assert everything(project) == before
    assert {item.name for item in find_items(project)} <= set(NAMES)


@takes_minutes
def test_paid_data_is_removed_only_by_name(project: Project) -> None:
    warehouse = Warehouse(project.warehouse)
    kept = {
        table: warehouse.fetch(f"SELECT * FROM {table} ORDER BY ALL")
        for table in ("questions", "predictions", "grades", "leaderboard", "marks", "judgments")
    }
    published = warehouse.fetch("SELECT count(*) FROM leaderboard_history").item()
    said = cleaned(project, "--yes")
    assert "removed history" in said
    assert "removed validations" in said
    for table, rows in kept.items():
        assert warehouse.fetch(f"SELECT * FROM {table} ORDER BY ALL").equals(rows), table
    assert warehouse.fetch("SELECT count(*) FROM leaderboard_history").item() == published // 2
    assert "removed judgments: 1 rows" in cleaned(project, "judgments", "--yes")
    left = warehouse.fetch("SELECT digest FROM judgments ORDER BY digest")["digest"].to_list()
    # One is asked for by a sample, the other is not old.
    assert left == ["a", "new"]
    assert "nothing to clean" in cleaned(project, "judgments", "--yes")


@takes_minutes
def test_last_leaderboard_is_never_removed(project: Project) -> None:
    cleaned(project, "--older-than", "0", "--yes")
    left = Warehouse(project.warehouse).fetch(
        "SELECT count(*), count(DISTINCT published_at) FROM leaderboard_history"
    )
    assert left.row(0)[1] == 1
    runs = [item for item in find_items(project, 0) if item.name == "runs"]
    assert runs == []


def folder_bytes(project: Project) -> int:
    return sum(path.stat().st_size for path in home(project).rglob("*") if path.is_file())


def add_runs(project: Project, count: int) -> None:
    """Add runs with as many events as a small run has, in the databases of the instance."""
    job = build_definitions(project).resolve_job_def(EVALUATE)
    with DagsterInstance.from_config(str(home(project))) as instance:
        for _ in range(count):
            run = instance.create_run_for_job(job, tags=range_tags("harbour", "harbour"))
            for _ in range(20):
                instance.report_engine_event("x" * 2_000, run)
            instance.report_run_failed(run)


@takes_minutes
def test_the_folder_of_past_runs_is_bounded(project: Project) -> None:
    cleaned(project, "runs", "--older-than", "0", "--yes")
    least = folder_bytes(project)
    for _ in range(2):
        add_runs(project, 20)
        assert folder_bytes(project) > least + 20 * 40_000
        assert "removed runs: 20 runs" in cleaned(project, "runs", "--older-than", "0", "--yes")
        assert folder_bytes(project) < least * 1.2
    assert not list((home(project) / "history" / "runs").glob("*-*.db*"))
    assert "nothing to clean" in cleaned(project, "runs", "--older-than", "0", "--yes")


@takes_minutes
def test_files_of_runs_that_were_deleted_before_are_removed(project: Project) -> None:
    add_runs(project, 3)
    with DagsterInstance.from_config(str(home(project))) as instance:
        (kept, *deleted) = instance.get_run_ids()
        for run_id in deleted:
            instance.delete_run(run_id)
    cleaned(project, "runs", "--older-than", "30", "--yes")
    runs = home(project) / "history" / "runs"
    assert {path.stem for path in runs.glob("*.db")} == {kept, "index"}
    with DagsterInstance.from_config(str(home(project))) as instance:
        assert instance.all_logs(kept)


def test_unknown_name_suggests_similar_one(project: Project) -> None:
    config = str(project.home / "scoreline.yaml")
    result = CliRunner().invoke(program, ["clean", "judgment", "--config", config])
    assert result.exit_code == 2
    assert "did you mean 'judgments'" in result.output


@takes_minutes
def test_free_space_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    with warehouse.transaction() as transaction:
        transaction.execute(
            "INSERT INTO questions BY NAME SELECT 'b' AS benchmark, 'q' || i AS question_id, "
            "md5(i::VARCHAR) || md5((i + 1)::VARCHAR) AS question FROM range(600_000) t(i)"
        )
    with warehouse.transaction() as transaction:
        transaction.execute("DELETE FROM questions WHERE question_id <> 'q7'")
    # DuckDB finds out what is free when it is opened once more.
    for _ in range(2):
        with warehouse.transaction() as transaction:
            transaction.record_fingerprint("b", "s", "d")
    before = measure_space(warehouse)
    assert before.is_worth_it
    size = warehouse.path.stat().st_size
    after = compact(warehouse)
    assert warehouse.path.stat().st_size < size / 4
    assert not after.is_worth_it
    assert warehouse.fetch("SELECT question_id FROM questions").rows() == [("q7",)]
    assert warehouse.fetch("SELECT count(*) FROM scores").item() == 0
    assert [each.name for each in tmp_path.iterdir() if "compact" in each.name] == []
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 0}))
    with pytest.raises(NoSpace, match="compacting"):
        compact(warehouse)
    assert warehouse.fetch("SELECT question_id FROM questions").rows() == [("q7",)]


def test_little_free_space_is_kept() -> None:
    assert not Space(100_000_000, 20_000_000).is_worth_it
    assert not Space(10_000_000, 9_000_000).is_worth_it
    assert Space(100_000_000, 30_000_000).is_worth_it


def test_every_retention_rule_can_be_counted(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    for leftover in retention.RETENTION_RULES.values():
        assert retention.count_expired(warehouse, leftover, 0) == 0
