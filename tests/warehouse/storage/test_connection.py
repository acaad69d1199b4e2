"""What is no warehouse, or is in other hands, is refused in words that help."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from warehouse.errors import SchemaMismatch, WarehouseError, WarehouseLocked
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path


def test_refuses_a_database_that_is_something_else(warehouse: Warehouse) -> None:
    warehouse.path.parent.mkdir()
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    with pytest.raises(SchemaMismatch, match="not a Scoreline warehouse"):
        warehouse.fetch("SELECT 1")


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 10_000])
def test_refuses_a_file_that_is_no_database(warehouse: Warehouse, content: bytes) -> None:
    warehouse.path.parent.mkdir()
    warehouse.path.write_bytes(content)
    for use in (lambda: warehouse.fetch("SELECT 1"), lambda: warehouse.append("marks", [])):
        with pytest.raises(WarehouseError, match="is not a DuckDB database"):
            use()
    assert warehouse.path.read_bytes() == content


def test_refuses_a_folder(warehouse: Warehouse) -> None:
    warehouse.path.mkdir(parents=True)
    with pytest.raises(WarehouseError, match="is a folder, expected a DuckDB file"):
        warehouse.fetch("SELECT 1")


def test_refuses_an_impossible_location(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WarehouseError, match=r"cannot create the folder of .*: Not a directory"):
        Warehouse(tmp_path / "file" / "deep" / "w.duckdb").fetch("SELECT 1")


def test_waits_for_a_process_that_ignores_the_lock(warehouse: Warehouse) -> None:
    warehouse.fetch("SELECT 1")
    shell = (
        "import duckdb, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", shell, str(warehouse.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(WarehouseLocked, match=f"is open in process {process.pid}, "):
            warehouse.fetch("SELECT 1")
        process.communicate("")
    assert warehouse.fetch("SELECT 1").item() == 1
