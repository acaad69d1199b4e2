"""Opens the storage of a location: a DuckDB file or a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from warehouse.storage.duckdb_file import FileStorage
from warehouse.storage.location import Lake

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    import duckdb

    from warehouse.storage.connection import Settings
    from warehouse.storage.location import Location

T = TypeVar("T")


class Storage(Protocol):
    """The storage of a warehouse: a DuckDB file or a lake."""

    def exists(self) -> bool:
        """Return whether the warehouse has been created."""

    def reading(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open a read-only connection that sees one state of the warehouse."""

    def writing(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open a connection in a transaction, committed at the end, rolled back on an exception."""

    def read(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run work on a read-only connection; repeat it if the server was unavailable."""

    def write(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run work in a transaction; repeat it after a conflict."""

    def copy(self, target: Path) -> None:
        """Copy the warehouse, as it is between two transactions, to a DuckDB file."""

    def size_bytes(self) -> int:
        """Return the approximate size of a copy in bytes."""


def open_storage(location: Location, settings: Settings, patience_s: float) -> Storage:
    """Return the storage of a warehouse, which waits up to `patience_s` for other processes."""
    if isinstance(location, Lake):
        from warehouse.storage.ducklake.storage import LakeStorage

        return LakeStorage(location, settings, patience_s)
    return FileStorage(location, settings, patience_s)
