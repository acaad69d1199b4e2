"""Whole runs on a lake: the same commands, and the same tables as on a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from orchestration import starter
from orchestration.config import load
from tests.orchestration.conftest import scoreline
from tests.support.handbook import copied, tell_story
from tests.support.lakes import configured, fresh, unlike
from tests.support.services import takes_longest, takes_minutes
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.location import Lake


@pytest.fixture
def lake(postgres_database: str, tmp_path: Path) -> Iterator[Lake]:
    with fresh(postgres_database, tmp_path / "lake of all machines") as place:
        yield place


def moved(home: Path, lake: Lake) -> Path:
    """A project whose configurations say that its warehouse is a lake."""
    for file in home.glob("*.yaml"):
        keys = yaml.safe_load(file.read_text(encoding="utf-8"))
        keys["warehouse"] = configured(lake)
        file.write_text(yaml.safe_dump(keys), encoding="utf-8")
    return home


def warehouse(home: Path) -> Warehouse:
    return Warehouse(load.load_config(home / "scoreline.yaml").project.warehouse)


@takes_minutes
def test_a_run_on_a_lake(done_project: Path, lake: Lake, tmp_path: Path) -> None:
    home = tmp_path / "demo"
    starter.write_starter(home)
    moved(home, lake)
    ended = scoreline(home, "run")
    assert ended.code == 0, ended.err
    assert unlike(warehouse(done_project), warehouse(home)) == []
    assert not list(home.rglob("warehouse.duckdb*"))

    again = scoreline(home, "run")
    assert (again.code, "nothing has changed" in again.err) == (0, True), again.err
    counted = scoreline(home, "sql", "SELECT count(*) AS n FROM scores", "--format", "json")
    held = warehouse(home).fetch("SELECT count(*) FROM scores").item()
    assert json.loads(counted.out) == [{"n": held}]
    file = home / "scoreline.yaml"
    gate = {"benchmark": "harbour", "metrics": ["citation.f1"], "min": 0.95}
    keys = {**yaml.safe_load(file.read_text(encoding="utf-8")), "gates": [gate]}
    file.write_text(yaml.safe_dump(keys), encoding="utf-8")
    assert scoreline(home, "run").code == 1
    gates = "SELECT DISTINCT gate FROM leaderboard WHERE metric = 'f1'"
    assert warehouse(home).fetch(gates)["gate"].to_list() == ["failed"]
    examined = scoreline(home, "doctor")
    assert examined.code == 0, examined.out
    assert f"warehouse: {lake}" in examined.out

    back = scoreline(home, "warehouse", "copy", "--to", "back.duckdb")
    assert back.code == 0, back.err
    assert unlike(warehouse(home), Warehouse(home / "back.duckdb")) == []
    twice = scoreline(home, "warehouse", "copy", "--from", "back.duckdb")
    assert (twice.code, "is not empty" in twice.err) == (2, True), twice.err


def test_an_unreachable_server(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    file = tmp_path / "scoreline.yaml"
    keys = yaml.safe_load(file.read_text(encoding="utf-8"))
    keys["warehouse"] = "ducklake:postgres:dbname=x host=127.0.0.1 port=9 user=nobody"
    file.write_text(yaml.safe_dump(keys), encoding="utf-8")
    ended = scoreline(tmp_path, "run")
    assert ended.code == 2, ended
    assert "cannot be reached: " in ended.err
    assert "Traceback" not in ended.err
    examined = scoreline(tmp_path, "doctor")
    assert "fail  warehouse: the warehouse 'ducklake:postgres:" in examined.out


@takes_longest
@pytest.mark.timeout(900)
def test_the_handbook_on_a_lake(handbook_run: Path, lake: Lake, tmp_path: Path) -> None:
    home = moved(copied(tmp_path / "handbook"), lake)
    tell_story(home)
    assert unlike(warehouse(handbook_run), warehouse(home)) == []
