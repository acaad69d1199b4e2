"""A DuckDB to look at files with, without holding the warehouse."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from warehouse.quiet import connect

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from warehouse.store import Warehouse


@contextmanager
def surveying(warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory, set like that of the warehouse and closed at the end of the `with`."""
    with connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute("SET memory_limit = $limit", {"limit": warehouse.memory_limit})
        if warehouse.threads is not None:
            connection.execute("SET threads = $threads", {"threads": warehouse.threads})
        connection.execute("SET preserve_insertion_order = false")
        yield connection
