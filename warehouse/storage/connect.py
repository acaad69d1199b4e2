"""Connects to DuckDB databases: the only calls of `duckdb.connect` in this package."""

from __future__ import annotations

import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, TypeAlias

import duckdb

from warehouse.storage.scratch import MEMORY, spill_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

Config: TypeAlias = dict[str, str | bool | int | float | list[str]]


@contextmanager
def connect(
    database: str = MEMORY,
    *,
    read_only: bool = False,
    config: Mapping[str, Any] | None = None,
    scratch: Path | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB database for the duration of the `with`; it spills data to its own folder.

    The folder is created in `scratch`, or in the system's folder for temporary files.
    """
    with (
        spill_folder(scratch or Path(gettempdir()), database) as spilled,
        open_database(
            database, read_only=read_only, config=config or {}, spilled=spilled
        ) as connection,
        ending_query(connection),
    ):
        yield connection


def open_database(
    database: str, *, read_only: bool, config: Mapping[str, Any], spilled: Path | None
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB database. The caller closes it."""
    # Without a folder, a query that exceeds the memory fails.
    settings = {**config, "temp_directory": str(spilled or "")}
    connection = duckdb.connect(database, read_only=read_only, config=settings)
    _disable_progress_bar(connection)
    return connection


def new_cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return another connection to the same database."""
    cursor = connection.cursor()
    _disable_progress_bar(cursor)
    return cursor


@contextmanager
def ending_query(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Interrupt the query of a connection when the `with` ends with an exception.

    After Ctrl-C its threads go on, and closing the connection or a rollback waits for their end.
    """
    try:
        yield
    except BaseException:
        connection.interrupt()
        raise


def _disable_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    # DuckDB draws one only where no file is run: in a shell or notebook, or by `python -c`.
    if hasattr(sys.modules["__main__"], "__file__"):
        return
    # In a notebook without ipywidgets there is none, and DuckDB refuses the setting.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")
