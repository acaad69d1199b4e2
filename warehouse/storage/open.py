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
    """A place with its connections; the only one that knows which of the two it is."""

    def exists(self) -> bool:
        """Whether the warehouse has been created."""

    def reading(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A connection that sees one state of the warehouse and changes nothing."""

    def writing(self) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """A connection in a transaction, committed at the end, rolled back on an exception."""

    def read(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out work on such a connection; anew where the server went away meanwhile."""

    def write(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out work in a transaction; anew where another one came between."""

    def copy(self, target: Path) -> None:
        """Write the warehouse, as it is between two transactions, to a DuckDB file."""

    def size_bytes(self) -> int:
        """The bytes that a copy needs, about."""


def open_storage(place: Location, settings: Settings, patience_s: float) -> Storage:
    """How to open a warehouse.

    Args:
        place: Where it is.
        settings: How DuckDB is to work.
        patience_s: The seconds to wait for other processes.
    """
    if isinstance(place, Lake):
        from warehouse.storage.ducklake.storage import LakeStorage

        return LakeStorage(place, settings, patience_s)
    return FileStorage(place, settings, patience_s)
