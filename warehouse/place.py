"""Where a warehouse is, and how it is opened there: a DuckDB file, or a lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from warehouse.errors import WarehouseError
from warehouse.file import FileStorage
from warehouse.lake.address import EXAMPLE, PREFIX, Lake, catalog_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    import duckdb

    from warehouse.connection import Settings

T = TypeVar("T")

Place: TypeAlias = Path | Lake
"""The path of a DuckDB file, or a lake. Both have a name, a folder and files beside them."""


class Storage(Protocol):
    """A place with its connections; the only one that knows which of the two it is."""

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

    def room(self) -> int:
        """The bytes that a copy needs, about."""


def place_of(
    home: Path,
    catalog: str,
    *,
    data_path: str | None = None,
    schema: str | None = None,
    password_env: str | None = None,
) -> Place:
    """The place that a configuration names.

    Args:
        home: The folder that paths are relative to.
        catalog: The path of a DuckDB file, or `ducklake:postgres:` and a database.
        data_path: The folder or address of a lake's files; null: `.scoreline/lake` in `home`.
        schema: The schema of its catalogue; null: `public`.
        password_env: The environment variable that holds the password of a lake's catalogue.

    Raises:
        WarehouseError: That is no place.
    """
    if not catalog.startswith(PREFIX):
        if {data_path, schema, password_env} != {None}:
            raise WarehouseError(
                f"a DuckDB file such as {catalog!r} has nothing but its path; a lake is named "
                f"{EXAMPLE!r}"
            )
        return home / Path(catalog).expanduser()
    beside = home / ".scoreline"
    if data_path is None:
        data_path = str(beside / "lake")
    elif "://" not in data_path:
        data_path = str(home / Path(data_path).expanduser())
    return Lake(catalog_of(catalog), data_path, beside, schema or "public", password_env)


def described(place: Place) -> dict[str, str | None]:
    """A place as JSON can hold it, for another process."""
    if isinstance(place, Lake):
        return {
            "catalog": place.catalog,
            "data_path": place.data_path,
            "folder": str(place.folder),
            "schema": place.schema,
            "password_env": place.password_env,
        }
    return {"path": str(place)}


def place_described(given: Mapping[str, Any]) -> Place:
    """The place that `described` told of."""
    if "path" in given:
        return Path(given["path"])
    return Lake(**{**given, "folder": Path(given["folder"])})


def storage_at(place: Place, settings: Settings, patience_s: float) -> Storage:
    """How to open a warehouse.

    Args:
        place: Where it is.
        settings: How DuckDB is to work.
        patience_s: The seconds to wait for other processes.
    """
    if isinstance(place, Lake):
        from warehouse.lake.storage import LakeStorage

        return LakeStorage(place, settings, patience_s)
    return FileStorage(place, settings, patience_s)
