"""Opens DuckDB files and translates DuckDB's errors."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import duckdb

from calls.file_system import special_file
from warehouse.errors import (
    NoSpace,
    WarehouseDamaged,
    WarehouseError,
    WarehouseLocked,
    WarehouseOutOfMemory,
    WarehouseTooNew,
)
from warehouse.storage.connect import connect, log_settings
from warehouse.storage.connection_pool import STORAGE_VERSION, pooled_connection
from warehouse.storage.memory import default_memory_limit, thread_count
from warehouse.storage.scratch import MEMORY
from warehouse.storage.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from warehouse.storage.connect import Config

PAUSE_S = 0.05

NOT_DUCKDB: Final = "not a valid DuckDB database file"
DAMAGED: Final = (NOT_DUCKDB, "Corrupt database file", "Could not read enough bytes")
"""What DuckDB says of files that are not as it wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """DuckDB's settings.

    Attributes:
        memory_limit: The memory limit in DuckDB's notation (`1GB`); null: half of the memory.
        threads: The most threads; null: one for each core that has enough memory.
        scratch: The folder in which folders for data that spills to disk are created; null: the
            system's folder for temporary files.
        sealed: Whether queries are denied access to other files.
    """

    memory_limit: str | None = None
    threads: int | None = None
    scratch: Path | None = None
    sealed: bool = False


@contextmanager
def connect_file(
    path: Path,
    *,
    read_only: bool,
    settings: Settings,
    patience_s: float = 0.0,
    lock: Callable[[], AbstractContextManager[None]] = nullcontext,
    check: Callable[[duckdb.DuckDBPyConnection], None] = lambda _: None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB file for the duration of the `with`.

    It waits up to `patience_s` while a foreign process has the file open. What `lock` returns is
    held as long as this process has the file open, and `check` is called when it opens the file.

    Raises:
        WarehouseLocked: A process that does not use the file lock has it open.
        WarehouseTooNew: A later version of DuckDB wrote it.
        NoSpace: The disk is full.
        WarehouseError: It is not a DuckDB file, or it cannot be opened.
    """
    kind = special_file(path)
    if kind is not None:
        raise WarehouseError(f"{str(path)!r} is {kind}, expected a DuckDB file")
    try:
        with ExitStack() as stack:
            opened = partial(
                _open,
                path,
                read_only=read_only,
                settings=settings,
                lock=lock,
                check=check,
            )
            yield _enter(stack, opened, path, patience_s)
    except duckdb.Error as error:
        raise translate_error(error, path) from error


@contextmanager
def connect_memory(settings: Settings) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an in-memory DuckDB, by preference the pooled one, for the duration of the `with`."""
    with _open(Path(MEMORY), read_only=False, settings=settings) as connection:
        yield connection


def translate_error(error: duckdb.Error, path: Path) -> Exception:
    """Return the error to show for a DuckDB error; the same error if it is a defect of ours."""
    text = str(error)
    if "Could not set lock on file" in text:
        holder = re.search(r"\(PID (\d+)\)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return WarehouseLocked(
            f"{str(path)!r} is open in {who}, which is not a Scoreline process "
            "(perhaps a DuckDB shell): close it there"
        )
    if os.strerror(errno.ENOSPC) in text:
        free = shutil.disk_usage(path.parent).free
        return NoSpace(f"the disk of {str(path)!r} is full: {free / 1e6:.1f} MB are free")
    content = _content_error(error, path)
    if content is not None:
        return content
    if isinstance(error, duckdb.OutOfMemoryException):
        return WarehouseOutOfMemory(
            f"DuckDB needs more memory for {str(path)!r} than it may use: raise `memory_limit` in "
            f"the configuration, or free memory and disk space ({text.splitlines()[0]})"
        )
    if isinstance(error, duckdb.IOException):
        return WarehouseError(f"{str(path)!r} cannot be used: {text.splitlines()[0]}")
    return error


def _content_error(error: duckdb.Error, path: Path) -> WarehouseError | None:
    """Return the error about the content of a file; null if it is not the cause."""
    text = str(error)
    if isinstance(error, duckdb.SerializationException) or any(sign in text for sign in DAMAGED):
        reason = f"is damaged: {text.splitlines()[0]}"
        is_other = NOT_DUCKDB in text
        return WarehouseDamaged(
            f"{str(path)!r} {'is not a DuckDB database' if is_other else reason}"
        )
    if "Trying to read a database file with version number" in text:
        return WarehouseTooNew(
            f"{str(path)!r} was written by a later DuckDB than this one ({duckdb.__version__}): "
            f"{text.splitlines()[0]}"
        )
    return None


def _enter(
    stack: ExitStack,
    opened: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]],
    path: Path,
    patience_s: float,
) -> duckdb.DuckDBPyConnection:
    deadline = time.monotonic() + patience_s
    waiting = Waiting()
    while True:
        try:
            return stack.enter_context(opened())
        except duckdb.IOException as error:
            is_locked = "Could not set lock on file" in str(error)
            if not is_locked or time.monotonic() >= deadline:
                raise
            waiting.tell(partial(_describe, error, path))
        time.sleep(PAUSE_S)


def _describe(error: duckdb.Error, path: Path) -> str:
    return str(translate_error(error, path))


def duckdb_config(settings: Settings) -> Config:
    """Return the DuckDB configuration that all connections share."""
    memory_limit = settings.memory_limit or default_memory_limit()
    return {
        "memory_limit": memory_limit,
        "threads": settings.threads or thread_count(memory_limit),
        "preserve_insertion_order": False,
        # Polars takes over string views without a copy.
        "arrow_output_version": "1.4",
        "produce_arrow_string_view": True,
        # A misspelt table is an error, not a Python variable of that name.
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        # Pooled databases outlive the files; a replaced file must be read again.
        "enable_external_file_cache": False,
    }


@contextmanager
def _open(
    path: Path,
    *,
    read_only: bool,
    settings: Settings,
    lock: Callable[[], AbstractContextManager[None]] = nullcontext,
    check: Callable[[duckdb.DuckDBPyConnection], None] = lambda _: None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    # DuckDB requires equal settings for all connections of a process to a file.
    config = duckdb_config(settings) | {"storage_compatibility_version": STORAGE_VERSION}
    config |= {} if read_only else log_settings(path)
    scratch = settings.scratch
    if scratch is not None and not settings.sealed:
        with pooled_connection(
            path,
            read_only=read_only,
            config=config,
            scratch=scratch,
            lock=lock,
            check=check,
        ) as connection:
            yield connection
        return
    # Where there is a `?` in the path, DuckDB looks for a log elsewhere when it opens the file.
    is_sealed_later = settings.sealed and bool(log_settings(path))
    if settings.sealed and not is_sealed_later:
        config |= {"enable_external_access": False}
    with (
        lock(),
        connect(str(path), read_only=read_only, config=config, scratch=scratch) as connection,
    ):
        if is_sealed_later:
            connection.execute("SET enable_external_access = false")
        check(connection)
        yield connection


def create_file(path: Path, settings: Settings) -> None:
    """Create a DuckDB file with all tables; only the schema version is filled in."""
    with connect_file(path, read_only=False, settings=settings) as connection:
        connection.begin()
        from warehouse.schema.ddl import create_tables  # the records and pydantic

        create_tables(connection)
        connection.commit()
        # On a full disk, closing silently leaves the tables in the write-ahead log.
        connection.execute("CHECKPOINT")
