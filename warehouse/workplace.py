"""Places in which to prepare what goes into the warehouse, without holding it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from warehouse.quiet import connect
from warehouse.spool import Scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from warehouse.store import Warehouse


@contextmanager
def folder_beside(warehouse: Warehouse) -> Iterator[Path]:
    """A folder beside the warehouse, removed at the end of the `with`."""
    own = Scratch(warehouse.path).own
    own.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="ingest-", dir=own) as name:
        yield Path(name)
    for each in (own, own.parent):
        # Another thread or process may be using it.
        try:
            each.rmdir()
        except OSError:
            break


@contextmanager
def surveying(warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory to look at files with, set like that of the warehouse."""
    with connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute("SET memory_limit = $limit", {"limit": warehouse.memory_limit})
        if warehouse.threads is not None:
            connection.execute("SET threads = $threads", {"threads": warehouse.threads})
        connection.execute("SET preserve_insertion_order = false")
        yield connection
