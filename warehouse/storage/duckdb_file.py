"""A warehouse in a DuckDB file: short connections, all of them behind one file lock."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import duckdb

from warehouse.errors import SchemaOutdated, WarehouseError
from warehouse.storage.connection import Settings, connect_file
from warehouse.storage.create import create_file, fsync
from warehouse.storage.file_lock import FileLock
from warehouse.storage.migrate import create_backup, migrate, require_version
from warehouse.storage.scratch import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FileStorage:
    """A DuckDB file that is a warehouse, created with all its tables at its first use.

    Attributes:
        path: The file.
        settings: How DuckDB is to work.
        patience_s: The seconds to wait for other processes.
    """

    path: Path
    settings: Settings
    patience_s: float

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection under the shared lock."""
        self._create_if_missing()
        with ExitStack() as held:
            try:
                connection = held.enter_context(self._reading())
            except SchemaOutdated:
                with self.writing():
                    pass
                connection = held.enter_context(self._reading())
            yield connection

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection in a transaction under the exclusive lock."""
        self._create_if_missing()
        with self._lock.exclusive(), self._connected(read_only=False) as connection:
            ScratchFolder(self.path).remove_orphans()
            connection.begin()
            try:
                yield connection
            except BaseException:
                # After a failed write DuckDB may refuse even this; the first error tells more.
                with suppress(duckdb.Error):
                    connection.rollback()
                raise
            connection.commit()

    def read(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out work on a read-only connection."""
        with self.reading() as connection:
            return work(connection)

    def write(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out work in a transaction; behind the lock nobody can come between."""
        with self.writing() as connection:
            return work(connection)

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Hold the lock with no connection open, for whoever replaces the file itself."""
        self._create_if_missing()
        with self._lock.exclusive():
            yield

    def copy(self, target: Path) -> None:
        """Copy the file as it is between two transactions."""
        if self.path.with_name(self.path.name + ".wal").exists():
            # A killed process left changes in the log; opening to write brings them into the file.
            with self.writing():
                pass
        # The open connection keeps out processes that do not take part in the file lock.
        with self.reading():
            shutil.copyfile(self.path, target)
        fsync(target)

    def size_bytes(self) -> int:
        """The bytes that a copy needs."""
        self._create_if_missing()
        return self.path.stat().st_size

    @contextmanager
    def _reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._lock.shared(), self._connected(read_only=True) as connection:
            yield connection

    @property
    def _lock(self) -> FileLock:
        return FileLock(self.path, self.patience_s)

    @contextmanager
    def _connected(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        with connect_file(
            self.path, read_only=read_only, settings=self.settings, patience_s=self.patience_s
        ) as connection:
            try:
                require_version(connection, self.path)
            except SchemaOutdated:
                if read_only:
                    raise
                create_backup(connection, self.path)
                migrate(connection, self.path)
            yield connection

    def _create_if_missing(self) -> None:
        if self.path.exists():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WarehouseError(
                f"the folder of the warehouse {str(self.path)!r} cannot be made: {error.strerror}"
            ) from error
        with self._lock.exclusive():
            if not self.path.exists():
                self._create()

    def _create(self) -> None:
        # Made elsewhere and moved, so that a file that is there is always complete.
        with TemporaryDirectory(prefix=".scoreline-", dir=self.path.parent) as folder:
            made = type(self.path)(folder) / self.path.name
            create_file(made, self.settings)
            # A log without its database is what somebody forgot to delete.
            self.path.with_name(self.path.name + ".wal").unlink(missing_ok=True)
            made.replace(self.path)
