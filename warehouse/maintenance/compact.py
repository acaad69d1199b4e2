"""Compaction: rewrites a warehouse file to release its free blocks."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.errors import NoSpace, WarehouseError
from warehouse.schema.ddl import check
from warehouse.schema.quoting import literal, quoted
from warehouse.storage.atomic import fsync
from warehouse.storage.connect import connect, log_settings
from warehouse.storage.connection import duckdb_config, translate_error
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from warehouse.store import Warehouse

MIN_FREE_SHARE = 0.25
"""The share of free blocks from which on compaction pays off."""

MIN_FREE_BYTES = 16_000_000
"""The free space from which on compaction pays off."""


@dataclass(frozen=True, slots=True)
class Space:
    """The size of a file and of its free blocks, which DuckDB reuses but does not release."""

    total_bytes: int
    free_bytes: int

    @property
    def is_worth_it(self) -> bool:
        """Whether enough of it is free."""
        return self.free_bytes >= max(MIN_FREE_BYTES, MIN_FREE_SHARE * self.total_bytes)


def measure_space(warehouse: Warehouse) -> Space:
    """Measure the space in the file of a warehouse; it is zero for a lake."""
    if not isinstance(warehouse.path, Path):
        return Space(0, 0)
    row = warehouse.fetch(
        "SELECT block_size, total_blocks, free_blocks FROM pragma_database_size() "
        "WHERE database_name = current_database()"
    )
    block, total, free = row.row(0)
    return Space(total * block, free * block)


def compact(warehouse: Warehouse) -> Space:
    """Write the warehouse to a new file, which replaces the old one by rename.

    It holds the exclusive lock. A killed process leaves the old file unchanged.

    Returns:
        The space in the new file.

    Raises:
        NoSpace: The disk has too little space for the copy.
        WarehouseError: The copy is not identical; the old file is unchanged.
    """
    path = warehouse.path
    if not isinstance(path, Path):
        raise WarehouseError(f"{str(path)!r} is not a file")
    with warehouse.exclusive_lock(), scratch_folder(path.parent) as folder:
        needed, free = path.stat().st_size, shutil.disk_usage(path.parent).free
        if free < needed:
            raise NoSpace(
                f"compacting {str(path)!r} needs up to {needed / 1e6:.1f} MB; "
                f"{free / 1e6:.1f} MB are free"
            )
        compacted = folder / path.name
        try:
            _copy(warehouse, path, compacted)
        except duckdb.Error as error:
            raise translate_error(error, path) from error
        fsync(compacted)
        compacted.replace(path)
        fsync(path.parent)
    return measure_space(warehouse)


def _copy(warehouse: Warehouse, source: Path, target: Path) -> None:
    settings = warehouse.settings
    # Rows in the order of their keys compress better and are found faster.
    config = duckdb_config(settings) | {"preserve_insertion_order": True} | log_settings(target)
    with connect(config=config, scratch=settings.scratch) as connection:
        # Opening the file for writing applies the write-ahead log of a killed process.
        connection.execute(f"ATTACH {literal(str(source))} AS old")
        connection.execute("CHECKPOINT old")
        connection.execute(f"ATTACH {literal(str(target))} AS compacted")
        connection.execute("COPY FROM DATABASE old TO compacted")
        tables = connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'old' AND NOT internal"
        ).fetchall()
        for (table,) in tables:
            name = quoted(table)
            counts = connection.execute(
                f"SELECT (SELECT count(*) FROM old.{name}), "  # noqa: S608
                f"(SELECT count(*) FROM compacted.{name})"
            ).fetchone()
            if counts is None or counts[0] != counts[1]:
                raise WarehouseError(
                    f"the copy of {str(source)!r} differs in table {table!r}: {counts}; the file "
                    "is unchanged"
                )
        connection.execute("DETACH compacted")
        connection.execute("DETACH old")
    with connect(str(target), read_only=True) as connection:
        differences = check(connection)
        if differences:
            raise WarehouseError(
                f"the copy of {str(source)!r} does not match the schema: {'; '.join(differences)}; "
                "the file is unchanged"
            )
