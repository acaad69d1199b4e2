"""Dagster's storage on PostgreSQL, with the settings of `deploy/dagster.yaml`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import pytest

from orchestration import starter
from orchestration.config import load
from orchestration.instance import home
from tests.orchestration.conftest import scoreline
from tests.support import services

if TYPE_CHECKING:
    from collections.abc import Iterator

SHIPPED = Path(__file__).parents[2] / "deploy" / "dagster.yaml"

pytestmark = services.takes_minutes


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A database of this test, named to Dagster by the environment."""
    with services.database() as name:
        monkeypatch.setenv("DAGSTER_POSTGRES_HOST", services.POSTGRES["host"])
        monkeypatch.setenv("DAGSTER_POSTGRES_USER", services.POSTGRES["user"])
        monkeypatch.setenv("DAGSTER_POSTGRES_DB", name)
        monkeypatch.setenv("DAGSTER_POSTGRES_PASSWORD", "none")
        yield name


def test_runs_and_partitions_are_in_postgres(database: str, tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    project = load.load_config(tmp_path / "scoreline.yaml").project
    folder = home(project)
    folder.mkdir(parents=True)
    shutil.copy(SHIPPED, folder / "dagster.yaml")
    # What a container does before it serves the definitions.
    ready = [sys.executable, "-m", "orchestration.cli", "dev", "--prepare"]
    subprocess.run(ready, cwd=tmp_path, check=True)
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert instance.get_dynamic_partitions("benchmarks") == ["harbour"]
        pools = instance.event_log_storage.get_pool_limits()
        assert {pool.name: pool.limit for pool in pools} == {"judge": 1, "models": 1, "systems": 1}
    done = scoreline(tmp_path, "run")
    assert done.code == 0, done.err
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        (run,) = instance.get_runs()
        assert run.status is dg.DagsterRunStatus.SUCCESS
        latest = instance.get_latest_materialization_event(dg.AssetKey("leaderboard"))
        assert latest is not None
        assert "postgres" in type(instance.event_log_storage).__module__
    assert not list(folder.rglob("*.db")), f"SQLite beside {database}"
