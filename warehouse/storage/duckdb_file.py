"""Stores a warehouse in a DuckDB file, with short connections under one file lock."""

from __future__ import annotations

import shutil
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import duckdb

from warehouse.errors import SchemaOutdated, WarehouseDamaged, WarehouseError
from warehouse.storage.atomic import fsync
from warehouse.storage.connect import ending_query
from warehouse.storage.connection import Settings, connect_file, create_file
from warehouse.storage.file_lock import FileLock
from warehouse.storage.migrate import create_backup, migrate, require_version
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

T = TypeVar("T")

REBUILD: Final = (
    "Delete it and run again: that rebuilds everything from the input files and the ledger, "
    "without paying for a call again. Human labels and the history are not in those; to keep them, "
    "put a copy of the published scoreline.duckdb in its place instead"
)
"""What to do about a warehouse that is damaged."""


@dataclass(frozen=True, slots=True)
class FileStorage:
    """A warehouse in a DuckDB file, created with all tables on first use.

    It waits up to `patience_s` for other processes.
    """

    path: Path
    settings: Settings
    patience_s: float

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.path.exists()

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-only connection under the shared lock."""
        self._create_if_missing()
        with ExitStack() as stack:
            try:
                connection = stack.enter_context(self._connected(read_only=True))
            except SchemaOutdated:
                with self.writing():
                    pass
                connection = stack.enter_context(self._connected(read_only=True))
            yield connection

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection in a transaction under the exclusive lock."""
        self._create_if_missing()
        with self._connected(read_only=False) as connection:
            connection.begin()
            try:
                with ending_query(connection):
                    yield connection
            except BaseException:
                # After a failed write the rollback may fail, too; the first error says more.
                with suppress(duckdb.Error):
                    connection.rollback()
                raise
            connection.commit()

    def read(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run work on a read-only connection."""
        with self.reading() as connection:
            return work(connection)

    def write(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run work in a transaction; the lock excludes conflicts."""
        with self.writing() as connection:
            return work(connection)

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Hold the lock without a connection, for replacing the file itself."""
        self._create_if_missing()
        with self._lock.exclusive():
            yield

    def copy(self, target: Path) -> None:
        """Copy the file between two transactions."""
        log = self.path.with_name(self.path.name + ".wal")
        if log.exists():
            # A killed process left it; opening the file for writing applies it.
            with self.writing():
                pass
        # The open connection excludes processes that do not use the file lock.
        with self.reading() as connection:
            if log.exists():
                # Another thread has just written, or the log could not be applied.
                connection.execute("CHECKPOINT")
            shutil.copyfile(self.path, target)
        fsync(target)

    def size_bytes(self) -> int:
        """Return the size of a copy in bytes."""
        self._create_if_missing()
        return self.path.stat().st_size

    @contextmanager
    def _connected(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        def check(connection: duckdb.DuckDBPyConnection) -> None:
            try:
                require_version(connection, self.path)
            except SchemaOutdated:
                if read_only:
                    raise
                create_backup(connection, self.path)
                migrate(connection, self.path)

        try:
            with connect_file(
                self.path,
                read_only=read_only,
                settings=self.settings,
                patience_s=self.patience_s,
                lock=self._lock.shared if read_only else self._lock.exclusive,
                check=check,
            ) as connection:
                yield connection
        except WarehouseDamaged as error:
            raise WarehouseDamaged(f"the warehouse cannot be read: {error}. {REBUILD}") from error

    @property
    def _lock(self) -> FileLock:
        return FileLock(self.path, self.patience_s)

    def _create_if_missing(self) -> None:
        if self.path.exists():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WarehouseError(
                f"cannot create the folder of the warehouse {str(self.path)!r}: {error.strerror}"
            ) from error
        with self._lock.exclusive():
            if not self.path.exists():
                self._create()

    def _create(self) -> None:
        # Created elsewhere and renamed, so that an existing file is always complete.
        with scratch_folder(self.path.parent) as folder:
            created = folder / self.path.name
            create_file(created, self.settings)
            # A log without a database belongs to a deleted file.
            self.path.with_name(self.path.name + ".wal").unlink(missing_ok=True)
            created.replace(self.path)
