"""From a file to a lake and back: every row, the ledger and the history included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.lakes import fresh
from tests.support.services import takes_minutes
from tests.support.warehouse_contents import contents
from tests.warehouse.conftest import questions
from tests.warehouse.ledger.rows import digest, judgment
from warehouse.errors import WarehouseError
from warehouse.ledger.open import open_ledger
from warehouse.maintenance.copy import copy_tables
from warehouse.schema.tables import TABLES
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.location import Lake

VALUES = {
    "VARCHAR": "'text ü'",
    "VARCHAR[]": "['a', NULL, '']",
    "VARCHAR[][]": "[['a'], NULL]",
    "DOUBLE": "0.1",
    "DOUBLE[]": "[0.1, NULL]",
    "BOOLEAN[]": "[true, NULL]",
    "INTEGER": "-7",
    "INTEGER[]": "[-7, NULL]",
    "BIGINT": "9007199254740993",
    "UBIGINT": "18446744073709551615",
    "UBIGINT[]": "[18446744073709551615]",
    "JSON": """'{"a": [1, null]}'""",
    "TIMESTAMP": "TIMESTAMP '2026-11-21 01:02:03.456789'",
    "MAP(VARCHAR, DOUBLE)": "MAP {'a': 0.1, 'c': NULL}",
    "MAP(VARCHAR, VARCHAR)": "MAP {'a': 'b', 'c': NULL}",
    "STRUCT(doc_id VARCHAR, grade INTEGER)[]": "[{'doc_id': 'd', 'grade': 2}]",
}


@pytest.fixture
def place(postgres_database: str, tmp_path: Path) -> Iterator[Lake]:
    with fresh(postgres_database, tmp_path) as made:
        yield made


def filled(path: Path) -> Warehouse:
    """A warehouse whose tables have a row with a value in each column, and a sparse one."""
    warehouse = Warehouse(path)
    with warehouse.transaction() as transaction:
        for table in TABLES.values():
            if table.view_of is None and table.name != "meta":
                whole = ", ".join(VALUES[column.type] for column in table.columns)
                sparse = ", ".join(
                    "NULL" if column.nullable else VALUES[column.type] for column in table.columns
                )
                transaction.execute(f"INSERT INTO {table.name} VALUES ({whole}), ({sparse})")
        transaction.execute("INSERT INTO meta VALUES ('random_seed', '7')")
    return warehouse


def meta(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.fetch("SELECT * FROM meta ORDER BY name").rows()


@takes_minutes
def test_there_and_back(place: Lake, tmp_path: Path) -> None:
    source, lake = filled(tmp_path / "source.duckdb"), Warehouse(place)
    before = source.path.read_bytes()
    counts = copy_tables(source, lake)
    assert set(counts) == {table.name for table in TABLES.values() if table.view_of is None}
    assert {rows for table, rows in counts.items() if table != "meta"} == {2}
    assert source.path.read_bytes() == before
    back = Warehouse(tmp_path / "deep" / "back.duckdb")
    assert copy_tables(lake, back) == counts
    assert contents(source) == contents(lake) == contents(back)
    assert meta(source) == meta(lake) == meta(back)


@takes_minutes
def test_nothing_is_overwritten(place: Lake, tmp_path: Path) -> None:
    source, lake = filled(tmp_path / "source.duckdb"), Warehouse(place)
    lake.append("labels", source.fetch("SELECT * FROM labels LIMIT 1"))
    held = contents(lake)
    with pytest.raises(WarehouseError, match="is not empty: 'labels' holds rows"):
        copy_tables(source, lake)
    assert contents(lake) == held
    with pytest.raises(WarehouseError, match="cannot be copied to itself"):
        copy_tables(lake, lake)
    missing = tmp_path / "missing.duckdb"
    with pytest.raises(WarehouseError, match="there is no warehouse"):
        copy_tables(Warehouse(missing), Warehouse(tmp_path / "other.duckdb"))
    assert not missing.exists()


def test_replies_of_a_killed_run_are_copied_too(tmp_path: Path) -> None:
    source = Warehouse(tmp_path / "source.duckdb")
    source.append("questions", questions("q"))
    with open_ledger(source, "killed") as ledger:
        ledger.record_judgment(judgment(1)).result()
    target = Warehouse(tmp_path / "other.duckdb")
    assert copy_tables(source, target)["judgments"] == 1
    with open_ledger(target, "next") as ledger:
        found = ledger.find(digest(1))
    assert found is not None
    assert found.reply == "reply 1"
