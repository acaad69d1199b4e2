"""The project's Dagster instance: folder, settings and partitions."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from assets.project import Benchmark, Project
from orchestration import instance

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", os.environ.get("DAGSTER_HOME", ""))


def project(folder: Path, *names: str) -> Project:
    benchmarks = {
        name: Benchmark(name=name, questions=folder, predictions=folder, evaluators=())
        for name in names
    }
    return Project(
        home=folder,
        warehouse=folder / "kept" / "warehouse.duckdb",
        publish=folder / "published",
        benchmarks=benchmarks,
    )


def test_folder_settings_and_partitions(tmp_path: Path) -> None:
    mine = project(tmp_path, "zeta", "alpha", "beta")
    with instance.open_instance(mine) as opened:
        assert not opened.telemetry_enabled
        assert list(opened.get_dynamic_partitions("benchmarks")) == ["zeta", "alpha", "beta"]
    settings = tmp_path / "kept" / "dagster" / "dagster.yaml"
    settings.write_text(settings.read_text() + "# mine\n")
    other = replace(mine, benchmarks=project(tmp_path, "beta", "zeta").benchmarks)
    with instance.open_instance(other) as opened:
        assert list(opened.get_dynamic_partitions("benchmarks")) == ["beta", "zeta"]
    assert settings.read_text().endswith("# mine\n")


def test_pools_have_limits_before_the_first_run(tmp_path: Path) -> None:
    mine = project(tmp_path, "alpha")

    def limits() -> dict[str, tuple[int, bool]]:
        with instance.open_instance(mine) as opened:
            found = opened.event_log_storage.get_pool_limits()
            return {pool.name: (pool.limit, pool.from_default) for pool in found}

    others = {"models": (1, True), "systems": (1, True)}
    assert limits() == {"judge": (1, True), **others}
    with instance.open_instance(mine) as opened:
        opened.event_log_storage.set_concurrency_slots("judge", 3)
    # As a user sets it in the interface.
    assert limits() == {"judge": (3, False), **others}
