"""The published copy, which is replaced by rename and can be read at any time."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb

from warehouse.errors import InvalidQuery, NoSpace, WarehouseError
from warehouse.storage.atomic import fsync
from warehouse.storage.connect import import_parameter_types, require_select
from warehouse.storage.connection import Settings, connect_file
from warehouse.storage.file_lock import FileLock
from warehouse.storage.migrate import require_version
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

    from warehouse.storage.connect import Parameters
    from warehouse.store import Warehouse

FILE_NAME = "scoreline.duckdb"


def publish(warehouse: Warehouse, folder: Path) -> Path:
    """Replace the copy of the warehouse in a folder, which is created if necessary.

    Readers that have the old copy open keep reading it, later ones see the new one. On any failure
    the old copy is unchanged.

    Returns:
        The path of the copy, `<folder>/scoreline.duckdb`.

    Raises:
        NoSpace: The disk of the folder is full.
        WarehouseLocked: The warehouse, or the folder, is being written by another process.
        WarehouseError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _publish(warehouse, folder)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _no_space(warehouse, folder) from error
        raise WarehouseError(
            f"cannot publish to {str(folder)!r}: {error.strerror} ({error.filename!r})"
        ) from error


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A published DuckDB file, which accepts any SELECT and no other statement.

    Attributes:
        path: The file.
        memory_limit: The memory that a query uses before it spills to disk, such as `4GB`; null:
            half of the memory of the machine or container.
    """

    path: Path
    memory_limit: str | None = None

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of a user's query, which cannot change this or any other file.

        Raises:
            InvalidQuery: DuckDB rejects the query; the error has its message.
            WarehouseError: There is no published copy, or it cannot be read.
        """
        with self.open() as copy:
            return copy.fetch(sql, parameters)

    @contextmanager
    def open(self) -> Iterator[OpenSnapshot]:
        """Open the current copy for several queries, even if it is replaced meanwhile.

        Raises:
            WarehouseError: There is no published copy, or it cannot be read.
        """
        if not self.path.exists():
            raise WarehouseError(
                f"there is no published copy {str(self.path)!r}: `scoreline run` publishes one"
            )
        with connect_file(
            self.path,
            read_only=True,
            settings=self.settings,
            check=partial(require_version, path=self.path),
        ) as connection:
            yield OpenSnapshot(connection)

    @property
    def settings(self) -> Settings:
        """The settings of DuckDB, for this package only."""
        # Readers often may not write beside the copy.
        is_writable = os.access(self.path.parent, os.W_OK)
        scratch = self.path.parent if is_writable else None
        return Settings(memory_limit=self.memory_limit, scratch=scratch, sealed=True)


@dataclass(frozen=True, slots=True)
class OpenSnapshot:
    """An open published copy."""

    _connection: duckdb.DuckDBPyConnection

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of a query; see `Snapshot.fetch`.

        Raises:
            InvalidQuery: DuckDB rejects the query; the error has its message.
        """
        try:
            require_select(self._connection, sql)
            from warehouse.storage.transaction import fetch_frame  # the records, and pydantic

            if parameters:
                import_parameter_types()
            return fetch_frame(self._connection, sql, parameters)
        except duckdb.Error as error:
            raise InvalidQuery(str(error)) from error

    def fetch_rows(self, sql: str, parameters: Parameters | None = None) -> list[dict[str, Any]]:
        """Return the rows of a query without Polars, whose import takes longer than most queries.

        Raises:
            InvalidQuery: DuckDB rejects the query; the error has its message.
        """
        try:
            require_select(self._connection, sql)
            if parameters:
                import_parameter_types()
            found = self._connection.execute(sql, parameters)
            names = [name for name, *_ in found.description or ()]
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        except duckdb.Error as error:
            raise InvalidQuery(str(error)) from error


def _publish(warehouse: Warehouse, folder: Path) -> Path:
    target = folder / FILE_NAME
    with (
        FileLock(folder / f".{FILE_NAME}.tmp", warehouse.patience_s).exclusive(),
        scratch_folder(folder) as scratch,
    ):
        copied = scratch / FILE_NAME
        _copy(warehouse, copied)
        copied.replace(target)
        fsync(folder)
    return target


def amend(folder: Path, sql: str, parameters: Parameters, patience_s: float) -> None:
    """Run a statement on a published copy, for what is known only after its publication.

    Readers see the old copy or the changed one, as with `publish`.

    Raises:
        WarehouseLocked: The folder is being written by another process.
        SchemaOutdated: An earlier version of Scoreline published the copy.
    """
    target = folder / FILE_NAME
    with (
        FileLock(folder / f".{FILE_NAME}.tmp", patience_s).exclusive(),
        scratch_folder(folder) as scratch,
    ):
        copied = scratch / FILE_NAME
        shutil.copyfile(target, copied)
        with connect_file(copied, read_only=False, settings=Settings()) as connection:
            require_version(connection, target)
            connection.execute(sql, parameters)
        fsync(copied)
        copied.replace(target)
        fsync(folder)


def _copy(warehouse: Warehouse, target: Path) -> None:
    if shutil.disk_usage(target.parent).free < warehouse.size_bytes():
        # The folder of the target is a temporary one beside it.
        raise _no_space(warehouse, target.parent.parent)
    warehouse.copy(target)


def _no_space(warehouse: Warehouse, folder: Path) -> NoSpace:
    needed = warehouse.size_bytes() / 1e6
    free = shutil.disk_usage(folder).free / 1e6
    return NoSpace(
        f"cannot publish to {str(folder)!r}: {needed:.1f} MB are needed and {free:.1f} MB are "
        "free; the previously published copy is unchanged"
    )
