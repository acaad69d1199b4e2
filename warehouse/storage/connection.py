"""Opening DuckDB files: settings, and DuckDB's messages turned into errors that help."""

from __future__ import annotations

import errno
import os
import re
import shutil
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import duckdb

from warehouse.errors import NoSpace, WarehouseError, WarehouseLocked, WarehouseTooNew
from warehouse.storage.connection_pool import connect, pooled_connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from warehouse.storage.connection_pool import Config

PAUSE_S = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How DuckDB is to work.

    Attributes:
        memory_limit: The memory that it may use, as DuckDB writes it (`1GB`).
        threads: The threads that it may use; null: one for each core.
        scratch: The folder for what does not fit into memory; null: DuckDB's own
            place beside the file.
        sealed: Whether queries are kept from other files.
    """

    memory_limit: str = "1GB"
    threads: int | None = None
    scratch: Path | None = None
    sealed: bool = False


@contextmanager
def connect_file(
    path: Path, *, read_only: bool, settings: Settings, patience_s: float = 0.0
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a DuckDB file, closed at the end of the `with`.

    Args:
        path: The file.
        read_only: Whether to open it for reading only.
        settings: How DuckDB is to work.
        patience_s: The seconds to wait while a foreign process has the file open.

    Raises:
        WarehouseLocked: A process that does not take part in the file lock has it open.
        WarehouseTooNew: A later version of DuckDB wrote it.
        NoSpace: The disk is full.
        WarehouseError: It is no DuckDB file, or it cannot be opened.
    """
    if path.is_dir():
        raise WarehouseError(f"{str(path)!r} is a folder, expected a DuckDB file")
    try:
        with ExitStack() as held:
            deadline = time.monotonic() + patience_s
            opened = partial(_opened, path, read_only=read_only, settings=settings)
            yield _entered(held, opened, deadline)
    except duckdb.Error as error:
        raise translate_error(error, path) from error


def translate_error(error: duckdb.Error, path: Path) -> Exception:
    """The error that tells the user about a DuckDB error; the same error when it is a defect."""
    text = str(error)
    if "Could not set lock on file" in text:
        holder = re.search(r"\(PID (\d+)\)", text)
        who = f"process {holder[1]}" if holder else "another process"
        return WarehouseLocked(
            f"{str(path)!r} is held open by {who}, which is not one of Scoreline's "
            "(a DuckDB shell, perhaps): close it there"
        )
    if os.strerror(errno.ENOSPC) in text:
        free = shutil.disk_usage(path.parent).free
        return NoSpace(f"the disk of {str(path)!r} is full: {free / 1e6:.1f} MB are free")
    if "not a valid DuckDB database file" in text:
        return WarehouseError(f"{str(path)!r} is not a DuckDB database")
    if "Trying to read a database file with version number" in text:
        return WarehouseTooNew(
            f"{str(path)!r} was written by a later DuckDB than this one ({duckdb.__version__}): "
            f"{text.splitlines()[0]}"
        )
    if isinstance(error, duckdb.IOException):
        return WarehouseError(f"{str(path)!r} cannot be used: {text.splitlines()[0]}")
    return error


def _entered(
    held: ExitStack,
    opened: Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]],
    deadline: float,
) -> duckdb.DuckDBPyConnection:
    while True:
        try:
            return held.enter_context(opened())
        except duckdb.IOException as error:
            foreign = "Could not set lock on file" in str(error)
            if not foreign or time.monotonic() >= deadline:
                raise
        time.sleep(PAUSE_S)


def duckdb_config(settings: Settings) -> Config:
    """How every engine of ours works, whatever is attached to it."""
    config: Config = {
        "memory_limit": settings.memory_limit,
        "threads": settings.threads or os.cpu_count() or 1,
        "preserve_insertion_order": False,
        # So texts are handed to Polars as it holds them itself, not copied once more.
        "arrow_output_version": "1.4",
        "produce_arrow_string_view": True,
        # A misspelt table must be an error, not a Python variable of that name.
        "python_enable_replacements": False,
        "autoinstall_known_extensions": False,
        # Engines are kept, and a file that was written anew must be read anew.
        "enable_external_file_cache": False,
    }
    if settings.scratch is not None:
        config["temp_directory"] = str(settings.scratch)
    return config


def _opened(
    path: Path, *, read_only: bool, settings: Settings
) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
    # Connections of one process to one file must be opened alike, so all of it stands here. The
    # version is that of new files; statistics of earlier formats take three times as long to open.
    config = duckdb_config(settings) | {"storage_compatibility_version": "v1.1.0"}
    if settings.sealed:
        config |= {"enable_external_access": False}
    if settings.scratch is None or settings.sealed:
        return connect(str(path), read_only=read_only, config=config)
    return pooled_connection(path, read_only=read_only, config=config, scratch=settings.scratch)
