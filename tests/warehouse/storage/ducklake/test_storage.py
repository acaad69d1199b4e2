"""A warehouse in a lake: made by whoever comes first, read and written like a file."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from tests.support.lakes import fresh, lake_at, told
from tests.support.services import POSTGRES, takes_minutes
from tests.warehouse.conftest import ids, questions
from warehouse.errors import WarehouseLocked, WarehouseUnreachable
from warehouse.schema.ddl import check
from warehouse.storage.location import Lake
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.transaction import Transaction

APPEND = """
import sys, json
import polars as pl
from warehouse.storage.location import location_from_json
from warehouse.store import Warehouse
warehouse = Warehouse(location_from_json(json.loads(sys.argv[1])))
for number in range(3):
    own = [{"benchmark": sys.argv[2], "question_id": f"q{number}"}]
    warehouse.replace("questions", pl.DataFrame(own))
    shared = [{"benchmark": "shared", "question_id": "q", "question": sys.argv[2]}]
    warehouse.replace("questions", pl.DataFrame(shared))
"""


@pytest.fixture
def place(postgres_database: str, tmp_path: Path) -> Iterator[Lake]:
    with fresh(postgres_database, tmp_path) as made:
        yield made


@takes_minutes
def test_a_lake_holds_what_a_file_holds(place: Lake, tmp_path: Path) -> None:
    assert not Warehouse(place).exists()
    warehouse = Warehouse(place)
    assert warehouse.append("questions", questions("q1", "q2")) == 2
    assert Warehouse(place).exists()
    assert warehouse.replace("questions", questions("q2", text="another")) == 1
    assert ids(warehouse) == [("b", "q1", "?"), ("b", "q2", "another")]
    with warehouse.transaction() as transaction:
        transaction.record_fingerprint("b", "questions", "1")
    assert warehouse.fingerprints("b") == {"questions": "1"}
    with warehouse.reading() as connection:
        assert check(connection) == []
    copy = tmp_path / "copy.duckdb"
    warehouse.copy(copy)
    assert ids(Warehouse(copy)) == ids(warehouse)


def test_text_that_postgresql_cannot_hold(place: Lake) -> None:
    warehouse = Warehouse(place)
    warehouse.append("questions", questions("q", text="a\0b"))
    assert ids(warehouse) == [("b", "q", "a\0b")]


def test_a_reader_sees_one_snapshot_and_blocks_no_writer(place: Lake) -> None:
    warehouse = Warehouse(place, patience_s=2.0)
    warehouse.append("questions", questions("q1"))
    counted = "SELECT count(*) FROM questions"
    with warehouse.reading() as connection:
        assert connection.execute(counted).fetchall() == [(1,)]
        warehouse.append("questions", questions("q2"))
        assert connection.execute(counted).fetchall() == [(1,)]
    assert warehouse.fetch(counted).item() == 2


def test_writers_wait_for_their_turn_and_say_for_whom(place: Lake) -> None:
    warehouse = Warehouse(place, patience_s=0.3)
    with (
        warehouse.transaction(),
        pytest.raises(WarehouseLocked, match=r"by process \d+ \(.*\) on .* since .*; waited 0.3 s"),
    ):
        warehouse.append("questions", questions("q"))
    warehouse.append("questions", questions("q"))


def test_a_failure_leaves_nothing(place: Lake) -> None:
    warehouse = Warehouse(place)

    def broken(transaction: Transaction) -> None:
        transaction.append("questions", questions("q"))
        raise KeyError

    with pytest.raises(KeyError):
        warehouse.write(broken)
    assert ids(warehouse) == []


@takes_minutes
def test_processes_that_make_it_at_the_same_time(place: Lake) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", APPEND, told(place), each]) for each in "abc"
    ]
    assert [process.wait(120) for process in started] == [0, 0, 0]
    found = pl.DataFrame(ids(Warehouse(place)), orient="row").rows()
    assert sorted((b, q) for b, q, _ in found if b != "shared") == [
        (b, f"q{number}") for b in "abc" for number in range(3)
    ]
    assert len([row for row in found if row[0] == "shared"]) == 1


def test_an_unreachable_server(tmp_path: Path) -> None:
    nowhere = Lake("dbname=x host=127.0.0.1 port=9", str(tmp_path / "lake"), tmp_path)
    with pytest.raises(WarehouseUnreachable, match=r"cannot be reached: .*refused") as caught:
        Warehouse(nowhere, patience_s=0.1).fingerprints("b")
    assert "application_name" not in str(caught.value)


def test_a_database_that_is_not_there(place: Lake, tmp_path: Path) -> None:
    missing = lake_at(tmp_path, "scoreline_missing")
    with pytest.raises(WarehouseUnreachable, match='"scoreline_missing" does not exist'):
        Warehouse(missing).exists()
    assert POSTGRES["host"] in str(place)
