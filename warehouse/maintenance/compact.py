"""Compaction: a warehouse file whose free blocks are given back to the disk."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.errors import NoSpace, WarehouseError
from warehouse.schema.ddl import check, literal, quoted
from warehouse.storage.atomic import fsync
from warehouse.storage.connection import translate_error
from warehouse.storage.connection_pool import connect

if TYPE_CHECKING:
    from warehouse.store import Warehouse

MIN_FREE_SHARE = 0.25
"""The share of free blocks from which on compacting is worth its time."""

MIN_FREE_BYTES = 16_000_000
"""Files with less free space than this are left as they are."""


@dataclass(frozen=True, slots=True)
class Space:
    """How a file is filled.

    Attributes:
        total_bytes: Its size.
        free_bytes: What of it holds nothing any more; DuckDB uses it again, but does not give it
            back.
    """

    total_bytes: int
    free_bytes: int

    @property
    def is_worth_it(self) -> bool:
        """Whether much of it is free."""
        return self.free_bytes >= max(MIN_FREE_BYTES, MIN_FREE_SHARE * self.total_bytes)


def measure_space(warehouse: Warehouse) -> Space:
    """How the file of a warehouse is filled; a lake has none, and so no free space in it."""
    if not isinstance(warehouse.path, Path):
        return Space(0, 0)
    row = warehouse.fetch(
        "SELECT block_size, total_blocks, free_blocks FROM pragma_database_size() "
        "WHERE database_name = current_database()"
    )
    block, total, free = row.row(0)
    return Space(total * block, free * block)


def compact(warehouse: Warehouse) -> Space:
    """Write the warehouse anew beside and put it in the place of the old file by renaming.

    The warehouse is held alone meanwhile. A process that is killed leaves the old file as it was.

    Returns:
        How the new file is filled.

    Raises:
        NoSpace: There is no room for the copy.
        WarehouseError: The copy is not what it should be; the old file stays.
    """
    path = warehouse.path
    if not isinstance(path, Path):
        raise WarehouseError(f"{str(path)!r} is no file")
    beside = path.with_name(f".{path.name}.compact")
    with warehouse.exclusive_lock():
        needed, free = path.stat().st_size, shutil.disk_usage(path.parent).free
        if free < needed:
            raise NoSpace(
                f"compacting {str(path)!r} needs up to {needed / 1e6:.1f} MB, of which "
                f"{free / 1e6:.1f} MB are free"
            )
        try:
            beside.unlink(missing_ok=True)
            _copy(path, beside)
            fsync(beside)
            beside.replace(path)
            fsync(path.parent)
        except duckdb.Error as error:
            raise translate_error(error, path) from error
        finally:
            for left in (beside, beside.with_name(beside.name + ".wal")):
                left.unlink(missing_ok=True)
    return measure_space(warehouse)


def _copy(source: Path, target: Path) -> None:
    with connect(config={"autoinstall_known_extensions": False}) as connection:
        # What a killed process left in the log is brought into the file by opening it to write.
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
                    "is left as it was"
                )
        connection.execute("DETACH compacted")
        connection.execute("DETACH old")
    with connect(str(target), read_only=True) as connection:
        faults = check(connection)
        if faults:
            raise WarehouseError(
                f"the copy of {str(source)!r} is not as described: {'; '.join(faults)}; the file "
                "is left as it was"
            )
