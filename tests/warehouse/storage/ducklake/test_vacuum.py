"""A lake gets rid of earlier states and needless files, and of no row."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.lakes import fresh, told
from tests.support.services import takes_minutes
from tests.warehouse.conftest import ids, questions
from warehouse.maintenance.vacuum import maintenance_tasks
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.maintenance.vacuum import MaintenanceTask
    from warehouse.storage.location import Lake

pytestmark = takes_minutes
KILLED = """
import json, os, sys
import polars as pl
from warehouse.storage.location import location_from_json
from warehouse.store import Warehouse
with Warehouse(location_from_json(json.loads(sys.argv[1]))).transaction() as transaction:
    frame = pl.DataFrame({"question_id": [str(i) for i in range(1000)]})
    transaction.append("questions", frame.with_columns(benchmark=pl.lit("killed")))
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def place(postgres_database: str, tmp_path: Path) -> Iterator[Lake]:
    with fresh(postgres_database, tmp_path) as made:
        yield made


def due(warehouse: Warehouse, days: float) -> dict[str, MaintenanceTask]:
    return {chore.name: chore for chore in maintenance_tasks(warehouse, days)}


def parquet(place: Lake) -> set[Path]:
    return set(Path(place.data_path).rglob("*.parquet"))


def test_removes_unused_files_but_no_rows(place: Lake) -> None:
    warehouse = Warehouse(place)
    for number in range(22):
        warehouse.append("questions", questions(f"q{number:02}"))
    warehouse.replace("questions", questions("q00", "q01", text="anew"))
    rows = ids(warehouse)
    assert due(warehouse, days=1).keys() == {"files"}
    assert int(due(warehouse, days=0)["snapshots"].amount.split()[0]) >= 23

    killed = subprocess.run([sys.executable, "-c", KILLED, told(place)], check=False)
    assert killed.returncode == -9
    # What is young may be in somebody's hands: small files are merged, and none goes yet.
    before = parquet(place)
    due(warehouse, days=1)["files"].run()
    assert before < parquet(place)
    assert ids(warehouse) == rows

    due(warehouse, days=0)["snapshots"].run()
    due(warehouse, days=0)["files"].run()
    assert ids(warehouse) == rows
    assert len(parquet(place)) <= 3
    assert "files" not in due(warehouse, days=0)
    warehouse.append("questions", questions("later"))
    assert len(ids(warehouse)) == len(rows) + 1


def test_a_lake_in_order_has_nothing_to_do(place: Lake) -> None:
    warehouse = Warehouse(place)
    warehouse.append("questions", questions("q"))
    assert due(warehouse, days=1) == {}
