"""A pool of DuckDB databases that attach files for as long as they have connections.

Starting a DuckDB database takes more than ten milliseconds, attaching a file to a running one some
three. A run opens its warehouse dozens of times for a moment, so that other processes can use
it. A database without connections keeps no file open.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, TypeAlias

import duckdb

from warehouse.schema.ddl import literal
from warehouse.storage.scratch import MEMORY, spill_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any


STORAGE_VERSION = "v1.2.0"
"""The storage version of new files, and of older ones from their next write on.

Files of the default version, which DuckDB before 1.2 can read as well, take more than twice as long
to attach. Versions before v1.2.0 are not kept: DuckDB reopens such files with the default version.
"""

Config: TypeAlias = dict[str, str | bool | int | float | list[str]]


@dataclass(slots=True)
class AttachedFile:
    """A file attached to a pooled database, with its name there and its number of connections."""

    name: str
    connections: int = 0


@dataclass(slots=True)
class PooledDatabase:
    """An in-memory DuckDB database and its attached files.

    Attributes:
        connection: Its first connection, which only attaches and detaches files.
        opened: Closes it, and removes the folder to which it spills data.
        spilled: That folder, which exists while it holds data; null if nothing can be spilled.
        attached: Its files, by path and read-only flag.
        is_broken: Whether an error occurred in it; DuckDB may then refuse every statement.
    """

    connection: duckdb.DuckDBPyConnection
    opened: ExitStack
    spilled: Path | None
    attached: dict[tuple[str, bool], AttachedFile] = field(default_factory=dict)
    is_broken: bool = False

    def attach(
        self, path: Path, *, read_only: bool
    ) -> tuple[AttachedFile, duckdb.DuckDBPyConnection]:
        """Attach a file if necessary and return a connection that has it as default database."""
        key = (str(path), read_only)
        if key not in self.attached:
            names = {each.name for each in self.attached.values()}
            candidates = (f"warehouse{i or ''}" for i in range(len(names) + 1))
            name = next(each for each in candidates if each not in names)
            option = "READ_ONLY" if read_only else f"STORAGE_VERSION '{STORAGE_VERSION}'"
            options = f"(TYPE duckdb, {option})"
            self.connection.execute(f"ATTACH {literal(str(path))} AS {name} {options}")
            self.attached[key] = AttachedFile(name)
        file = self.attached[key]
        cursor = new_cursor(self.connection)
        cursor.execute(f"USE {file.name}")
        file.connections += 1
        return file, cursor

    def release(self, file: AttachedFile, cursor: duckdb.DuckDBPyConnection) -> None:
        """Close a connection; detach the file with its last connection."""
        cursor.close()
        file.connections -= 1
        if file.connections == 0:
            ((key, _),) = [each for each in self.attached.items() if each[1] is file]
            del self.attached[key]
            try:
                self.connection.execute(f"DETACH {file.name}")
                _, read_only = key
                if not read_only:
                    # Reset a setting that is meant for one transaction.
                    self.connection.execute("RESET disabled_compression_methods")
            except duckdb.Error:
                self.is_broken = True


_POOL: dict[tuple[object, ...], PooledDatabase] = {}
_INHERITED: list[PooledDatabase] = []
_CLOSED_AT_EXIT: set[int] = set()
_LOCK = threading.RLock()


@contextmanager
def pooled_connection(
    path: Path, *, read_only: bool, config: Config, scratch: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to a file through the pool for the duration of the `with`.

    The configuration and `scratch` select the database of the pool.
    """
    key = (scratch, *config.items())
    with _LOCK:
        database = _POOL.get(key)
        if database is None:
            close_idle()
            _close_at_exit()
            database = _POOL[key] = _open_database(config, scratch)
        try:
            file, cursor = database.attach(path, read_only=read_only)
        except BaseException:
            _close_if_idle(key, database)
            raise
    try:
        with ending_query(cursor):
            yield cursor
    except BaseException:
        database.is_broken = True
        raise
    finally:
        with _LOCK:
            database.release(file, cursor)
            # A database removes its spilled data only when it is closed.
            has_spilled = database.spilled is not None and database.spilled.exists()
            database.is_broken = database.is_broken or has_spilled
            if database.is_broken:
                _close_if_idle(key, database)


def close_idle() -> None:
    """Close the databases without connections."""
    with _LOCK:
        for key, database in list(_POOL.items()):
            _close_if_idle(key, database)


def _close_if_idle(key: tuple[object, ...], database: PooledDatabase) -> None:
    if not database.attached:
        del _POOL[key]
        database.opened.close()


def _close_at_exit() -> None:
    """Close the databases when this process ends, also if `multiprocessing` started it."""
    if os.getpid() not in _CLOSED_AT_EXIT:
        _CLOSED_AT_EXIT.add(os.getpid())
        Finalize(None, close_idle, exitpriority=0)


def _reset_after_fork() -> None:
    """Drop the databases of the parent process, whose threads do not exist here."""
    global _LOCK  # noqa: PLW0603 - another thread of the parent may have held it
    _LOCK = threading.RLock()
    _INHERITED.extend(_POOL.values())
    _POOL.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=close_idle, after_in_child=_reset_after_fork)


def _disable_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    # DuckDB draws one only where no file is run: in a shell or notebook, or by `python -c`.
    if hasattr(sys.modules["__main__"], "__file__"):
        return
    # In a notebook without ipywidgets there is none, and DuckDB refuses the setting.
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = false")


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
        _connect(database, read_only=read_only, config=config or {}, spilled=spilled) as connection,
        ending_query(connection),
    ):
        yield connection


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


def _open_database(config: Config, scratch: Path) -> PooledDatabase:
    with ExitStack() as stack:
        spilled = stack.enter_context(spill_folder(scratch))
        opened = _connect(MEMORY, read_only=False, config=config, spilled=spilled)
        stack.enter_context(opened)
        return PooledDatabase(opened, stack.pop_all(), spilled)


def _connect(
    database: str, *, read_only: bool, config: Mapping[str, Any], spilled: Path | None
) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB database; the only call of `duckdb.connect` in this package."""
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
