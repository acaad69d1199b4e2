"""DuckDB engines that are kept between connections.

To start an engine takes ten milliseconds and more, to attach a file to one that runs less than
one; and a run opens its warehouse dozens of times, each time for a moment, so that nobody is kept
waiting. A file is attached for as long as somebody has a connection to it, and no longer: an idle
engine holds no file.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import duckdb

from warehouse.schema.ddl import literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any


Config: TypeAlias = dict[str, str | bool | int | float | list[str]]


@dataclass(slots=True)
class AttachedFile:
    """A file that an engine has open.

    Attributes:
        name: What the engine calls it.
        users: How many connections there are to it.
    """

    name: str
    users: int = 0


@dataclass(slots=True)
class PooledDatabase:
    """An engine and what it has open.

    Attributes:
        connection: Its first connection, on which nothing is read or written.
        attached: Its files, by path and by whether they are only read.
        spoilt: Whether something went wrong in it; DuckDB then may refuse everything.
    """

    connection: duckdb.DuckDBPyConnection
    attached: dict[tuple[str, bool], AttachedFile] = field(default_factory=dict)
    spoilt: bool = False

    def attach(
        self, path: Path, *, read_only: bool
    ) -> tuple[AttachedFile, duckdb.DuckDBPyConnection]:
        """A connection to a file, on which the tables of the file need no prefix."""
        key = (str(path), read_only)
        if key not in self.attached:
            names = {each.name for each in self.attached.values()}
            possible = (f"warehouse{i or ''}" for i in range(len(names) + 1))
            name = next(each for each in possible if each not in names)
            only = ", READ_ONLY" if read_only else ""
            self.connection.execute(f"ATTACH {literal(str(path))} AS {name} (TYPE duckdb{only})")
            self.attached[key] = AttachedFile(name)
        found = self.attached[key]
        cursor = new_cursor(self.connection)
        cursor.execute(f"USE {found.name}")
        found.users += 1
        return found, cursor

    def release(self, file: AttachedFile, cursor: duckdb.DuckDBPyConnection) -> None:
        """Close a connection, and with the last one the file."""
        cursor.close()
        file.users -= 1
        if file.users == 0:
            ((key, _),) = [each for each in self.attached.items() if each[1] is file]
            del self.attached[key]
            try:
                self.connection.execute(f"DETACH {file.name}")
                # What was set for one transaction ends with it; the file is written by now.
                self.connection.execute("RESET disabled_compression_methods")
            except duckdb.Error:
                self.spoilt = True


_POOL: dict[tuple[object, ...], PooledDatabase] = {}
_INHERITED: list[PooledDatabase] = []
_LOCK = threading.RLock()


@contextmanager
def pooled_connection(
    path: Path, *, read_only: bool, config: Config, scratch: Path
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a file, closed at the end of the `with`.

    Args:
        path: The file.
        read_only: Whether to open it for reading only.
        config: The settings of the engine, which all its connections share.
        scratch: Where it puts what does not fit into memory.
    """
    key = tuple(config.items())
    with _LOCK:
        engine = _POOL.get(key)
        if engine is None:
            close_idle()
            engine = _POOL[key] = PooledDatabase(connect(config=config))
        try:
            file, cursor = engine.attach(path, read_only=read_only)
        except BaseException:
            _close_if_idle(key, engine)
            raise
    try:
        yield cursor
    except BaseException:
        engine.spoilt = True
        raise
    finally:
        with _LOCK:
            engine.release(file, cursor)
            # Only at its end does an engine remove what it put there.
            engine.spoilt = engine.spoilt or scratch.exists()
            if engine.spoilt:
                _close_if_idle(key, engine)


def close_idle() -> None:
    """End the engines on which there is no connection."""
    with _LOCK:
        for key, engine in list(_POOL.items()):
            _close_if_idle(key, engine)


def _close_if_idle(key: tuple[object, ...], engine: PooledDatabase) -> None:
    if not engine.attached:
        del _POOL[key]
        engine.connection.close()


def _reset_after_fork() -> None:
    """Leave to the process that this is a fork of what it had: its threads are not here."""
    global _ALONE
    _LOCK = threading.RLock()
    _INHERITED.extend(_POOL.values())
    _POOL.clear()


atexit.register(close_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=close_idle, after_in_child=_reset_after_fork)


_QUIET = "SET enable_progress_bar = false"


def connect(
    database: str = ":memory:", *, read_only: bool = False, config: Mapping[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection to an engine of its own; the only place where one is opened."""
    connection = duckdb.connect(database, read_only=read_only, config=dict(config or {}))
    connection.execute(_QUIET)
    return connection


def new_cursor(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """One more connection to the engine of another."""
    cursor = connection.cursor()
    cursor.execute(_QUIET)
    return cursor
