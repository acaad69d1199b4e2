"""Copies all rows of a warehouse to another, empty one."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from warehouse.errors import WarehouseError
from warehouse.ledger.open import has_ledger, open_ledger
from warehouse.schema.quoting import literal, quoted
from warehouse.schema.tables import STORED
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from warehouse.store import Warehouse


def copy_tables(source: Warehouse, target: Warehouse) -> dict[str, int]:
    """Copy all tables of a warehouse, as they are between two transactions, to an empty one.

    The target is created if necessary.

    Returns:
        The number of rows of each table.

    Raises:
        WarehouseError: The source does not exist; the target holds rows or is the source; or the
            counts differ. The target is then unchanged.
    """
    if not source.exists():
        raise WarehouseError(f"there is no warehouse {str(source.path)!r}")
    if source.path == target.path:
        raise WarehouseError(f"{str(source.path)!r} cannot be copied to itself")
    if has_ledger(source):
        with open_ledger(source, "copy") as ledger:
            ledger.flush()  # replies of a killed run
    with scratch_folder(target.path.parent) as folder:
        between = folder / "copy.duckdb"
        source.copy(between)
        return target.storage.write(lambda connection: _insert_tables(connection, between, target))


def _insert_tables(
    connection: duckdb.DuckDBPyConnection, file: Path, target: Warehouse
) -> dict[str, int]:
    for table in STORED:
        if table != "meta" and _count(connection, quoted(table)):
            raise WarehouseError(f"{str(target.path)!r} is not empty: {table!r} holds rows")
    name = quoted(f"copy-{uuid4().hex}")
    connection.execute(f"ATTACH {literal(str(file))} AS {name} (READ_ONLY)")
    connection.execute("DELETE FROM meta")
    counts = {}
    for table in STORED:
        own, copied = quoted(table), f"{name}.{quoted(table)}"
        connection.execute(f"INSERT INTO {own} BY NAME SELECT * FROM {copied}")  # noqa: S608
        counts[table] = _count(connection, own)
        if counts[table] != _count(connection, copied):
            raise WarehouseError(f"only {counts[table]} rows of {table!r} were copied")
    return counts


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
    return int(row[0]) if row is not None else 0
