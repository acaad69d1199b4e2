"""A pool of DuckDB databases that attach files for as long as they have connections.

Starting a DuckDB database takes more than ten milliseconds, attaching a file to a running one some
three. A run opens its warehouse some seventy times for a moment, so that other processes can use
it: a database without connections has no file open.
"""

from __future__ import annotations

import os
import threading
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING, Final, TypeAlias

import duckdb

from warehouse.schema.quoting import literal
from warehouse.storage.connect import (
    ending_query,
    import_parameter_types,
    new_cursor,
    open_database,
)
from warehouse.storage.scratch import MEMORY, spill_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from warehouse.storage.connect import Config

STORAGE_VERSION: Final = "v1.2.0"
"""The storage version of new files, and of older ones from their next write on.

Files of the default version, which DuckDB before 1.2 can read as well, take more than twice as long
to attach. Versions before v1.2.0 are not kept: DuckDB reopens such files with the default version.
"""

Identity: TypeAlias = tuple[int, int] | None


@dataclass(slots=True)
class AttachedFile:
    """A file attached to a pooled database.

    Attributes:
        name: Its name in the database.
        path: The file.
        read_only: Whether it cannot be written.
        identity: Tells it from another file that takes its path.
        locks: What is held until it is detached.
        connections: The number of its connections.
        is_written: Whether one of them writes.
    """

    name: str
    path: str
    read_only: bool
    identity: Identity
    locks: ExitStack = field(default_factory=ExitStack)
    connections: int = 0
    is_written: bool = False

    def serves(self, path: Path, identity: Identity, *, read_only: bool) -> bool:
        """Return whether another connection to a file can use this one."""
        if (self.path, self.identity) != (str(path), identity):
            return False
        if read_only or self.path == MEMORY:
            return not self.is_written
        return not self.read_only and not self.connections


@dataclass(slots=True)
class PooledDatabase:
    """An in-memory DuckDB database and its attached files.

    Attributes:
        connection: Its first connection, which only attaches and detaches files.
        opened: Closes it, and removes the folder to which it spills data.
        spilled: That folder, which exists while it holds data; null if nothing can be spilled.
        attached: Its files.
        is_broken: Whether an error occurred in it; DuckDB may then refuse every statement.
    """

    connection: duckdb.DuckDBPyConnection
    opened: ExitStack
    spilled: Path | None
    attached: list[AttachedFile] = field(default_factory=list)
    is_broken: bool = False

    def find(self, path: Path, *, read_only: bool) -> AttachedFile | None:
        """Return the attached file that another connection can use."""
        identity = _identity(path)
        for file in self.attached:
            if file.serves(path, identity, read_only=read_only):
                return file
        return None

    def attach(self, path: Path, *, read_only: bool) -> AttachedFile:
        """Attach a file."""
        names = {each.name for each in self.attached}
        candidates = (f"warehouse{i or ''}" for i in range(len(names) + 1))
        name = next(each for each in candidates if each not in names)
        option = "READ_ONLY" if read_only else f"STORAGE_VERSION '{STORAGE_VERSION}'"
        options = f"(TYPE duckdb, {option})"
        self.connection.execute(f"ATTACH {literal(str(path))} AS {name} {options}")
        file = AttachedFile(name, str(path), read_only, _identity(path))
        self.attached.append(file)
        return file

    def connect(self, file: AttachedFile, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        """Return a connection that has a file as default database."""
        cursor = new_cursor(self.connection)
        cursor.execute(f"USE {file.name}")
        file.connections += 1
        file.is_written = not read_only and file.path != MEMORY
        return cursor

    def release(self, file: AttachedFile, cursor: duckdb.DuckDBPyConnection) -> None:
        """Close a connection; detach the file with its last one."""
        cursor.close()
        file.connections -= 1
        # A database removes its spilled data only when it is closed.
        if self.spilled is not None and self.spilled.exists():
            self.is_broken = True
        if file.is_written and not self.is_broken:
            file.is_written = False
            # Rows that are only in the log are compressed when they are moved to the file.
            self.connection.execute("RESET disabled_compression_methods")
        if file.connections == 0:
            self._detach(file)

    def _detach(self, file: AttachedFile) -> None:
        """Detach a file without connections, then release its locks."""
        self.attached.remove(file)
        with file.locks:
            try:
                self.connection.execute(f"DETACH {file.name}")
            except duckdb.Error:
                self.is_broken = True


_POOL: dict[tuple[object, ...], PooledDatabase] = {}
_INHERITED: list[PooledDatabase] = []
_CLOSED_AT_EXIT: set[int] = set()
_LOCK = threading.RLock()


@contextmanager
def pooled_connection(
    path: Path,
    *,
    read_only: bool,
    config: Config,
    scratch: Path,
    lock: Callable[[], AbstractContextManager[None]] = nullcontext,
    check: Callable[[duckdb.DuckDBPyConnection], None] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to a file through the pool for the duration of the `with`.

    Args:
        path: The file.
        read_only: Whether nothing is written.
        config: With `scratch`, it selects the database of the pool.
        scratch: The folder for data that spills to disk.
        lock: Returns a context that is entered before the file is attached, and left after it was
            detached.
        check: Called with the first connection to the attached file.
    """
    key: tuple[object, ...] = (scratch, *config.items())
    with _LOCK:
        database = _POOL.get(key)
        file = None if database is None else database.find(path, read_only=read_only)
        if file is not None and database is not None:
            cursor = database.connect(file, read_only=read_only)
    is_new = file is None
    if file is None or database is None:
        with ExitStack() as locks:
            locks.enter_context(lock())
            with _LOCK:
                database = _POOL.get(key)
                if database is None:
                    close_idle()
                    _close_at_exit()
                    database = _POOL[key] = _open_pooled(config, scratch)
                try:
                    file = database.find(path, read_only=read_only) or database.attach(
                        path, read_only=read_only
                    )
                    cursor = database.connect(file, read_only=read_only)
                except BaseException:
                    _close_if_idle(key, database)
                    raise
                file.locks.push(locks.pop_all())
    try:
        with ending_query(cursor):
            if is_new and check is not None:
                check(cursor)
            yield cursor
    except BaseException:
        database.is_broken = True
        raise
    finally:
        with _LOCK:
            database.release(file, cursor)
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


def _open_pooled(config: Config, scratch: Path) -> PooledDatabase:
    import_parameter_types()
    with ExitStack() as stack:
        spilled = stack.enter_context(spill_folder(scratch))
        opened = open_database(MEMORY, read_only=False, config=config, spilled=spilled)
        stack.enter_context(opened)
        return PooledDatabase(opened, stack.pop_all(), spilled)


def _identity(path: Path) -> Identity:
    """Return the device and inode of a file; null if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
