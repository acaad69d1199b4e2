"""Connects to DuckDB databases: the only calls of `duckdb.connect` in this package."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import duckdb

from warehouse.errors import InvalidQuery
from warehouse.storage.scratch import MEMORY, spill_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

Config: TypeAlias = dict[str, str | bool | int | float | list[str]]
Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]
"""The values of `$name`, or of each `?`, in a statement."""

REFUSED: Final = frozenset(
    {
        "checkpoint",
        "disable_logging",
        "disable_profiling",
        "enable_logging",
        "enable_profiling",
        "force_checkpoint",
        "json_execute_serialized_sql",
        "query",
        "truncate_duckdb_logs",
        "write_log",
    }
)
"""Functions that a SELECT may call and that change settings, or run a query given as text.

`enable_profiling` and a log in a file end the process where access to files is denied.
"""


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
    log = {} if read_only else log_settings(database)
    settings = {**config, **log, "temp_directory": str(spilled or "")}
    connection = duckdb.connect(database, read_only=read_only, config=settings)
    _disable_progress_bar(connection)
    return connection


def import_parameter_types() -> None:
    """Import pandas, as DuckDB does for the first parameter of a process.

    In a thread, because only the main one is interrupted: DuckDB, and extension modules of pandas,
    drop an interrupt that arrives while they import, and the command would go on.
    """
    if "pandas" in sys.modules:
        return
    with suppress(ImportError), ThreadPoolExecutor(1) as thread:
        thread.submit(import_module, "pandas").result()


def log_settings(file: Path | str) -> Config:
    """Return the settings without which DuckDB cannot write to a file at some paths.

    DuckDB takes a `?` for the beginning of a URL's query: the write-ahead log of `a?b/c.duckdb`
    would be `a.wal?b/c.duckdb`. So each commit writes the file itself, without a log.
    """
    if "?" not in os.path.realpath(file):
        return {}
    return {"auto_checkpoint_skip_wal_threshold": 0, "checkpoint_threshold": "0b"}


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


def require_select(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Check that a query is one SELECT whose functions only compute.

    Raises:
        InvalidQuery: It is not.
    """
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise InvalidQuery(f"expected one statement, got {len(statements)}")
    # EXPLAIN ANALYZE would run any statement; DESCRIBE and SHOW are SELECTs.
    if statements[0].type != duckdb.StatementType.SELECT:
        got = statements[0].type.name
        raise InvalidQuery(f"only reading is allowed: expected a SELECT, got {got}")
    if REFUSED.isdisjoint(re.findall(r"\w+", sql.lower())):
        return
    # A word may be a column or a text; DuckDB's parser knows.
    found = connection.execute("SELECT json_serialize_sql($sql)", {"sql": sql}).fetchone()
    tree = str(found[0]) if found else ""
    if not tree.startswith('{"error":false'):
        raise InvalidQuery("only reading is allowed: DuckDB cannot list the functions it calls")
    called = {name.lower() for name in re.findall(r'"function_name":"([^"\\]+)"', tree)}
    for name in sorted(called & REFUSED):
        raise InvalidQuery(f"only reading is allowed: the function {name!r} is refused")
