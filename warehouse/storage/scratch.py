"""Scratch files beside the warehouse, such as query results that are processed without a lock."""

from __future__ import annotations

import glob
import os
import shutil
import socket
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.storage.location import Location


@dataclass(frozen=True, slots=True)
class ScratchResult:
    """A query result in a Parquet file; `Warehouse.fetch_to_disk` creates and removes the file."""

    path: Path
    rows: int

    def batches(self, rows: int = 50_000) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames of `rows` rows; the last one may be shorter."""
        for number in range(-(-self.rows // rows)):
            yield self.batch(number, rows)

    def batch(self, number: int, rows: int = 50_000) -> pl.DataFrame:
        """Return one of the frames of `batches` by its number, from 0."""
        return pl.scan_parquet(self.path, glob=False).slice(number * rows, rows).collect()

    def frame(self) -> pl.DataFrame:
        """Return all rows."""
        return pl.read_parquet(self.path, glob=False)


@dataclass(frozen=True, slots=True)
class ScratchFolders:
    """The scratch folders beside a warehouse, named after the process that owns them.

    They have no common folder: DuckDB creates the folder for spilled data only when it needs it,
    and not the folder around it.
    """

    warehouse: Location

    @property
    def spill_folder(self) -> Path:
        """The folder to which DuckDB spills data in this process; it may not exist."""
        return self.warehouse.with_name(f"{self._prefix}{_process()}~duckdb")

    @contextmanager
    def temporary_directory(self) -> Iterator[Path]:
        """Create a folder that is removed at the end of the `with`."""
        self.warehouse.parent.mkdir(parents=True, exist_ok=True)
        prefix = f"{self._prefix}{_process()}~"
        created = Path(mkdtemp(prefix=prefix, dir=self.warehouse.parent))
        try:
            yield created
        finally:
            shutil.rmtree(created)

    def existing(self) -> Iterator[Path]:
        """Yield the scratch folders of all processes."""
        yield from self.warehouse.parent.glob(f"{glob.escape(self._prefix)}*@*~*")

    def remove_orphans(self) -> None:
        """Remove the folders of killed processes of this machine."""
        found = list(self.existing())
        if not found:
            return
        import psutil

        for folder in found:
            pid, host = folder.name.removeprefix(self._prefix).rpartition("~")[0].split("@", 1)
            if host == socket.gethostname() and not psutil.pid_exists(int(pid)):
                # Another process may remove it at the same time.
                shutil.rmtree(folder, ignore_errors=True)

    @property
    def _prefix(self) -> str:
        return f"{self.warehouse.name}.scratch-"


def _process() -> str:
    return f"{os.getpid()}@{socket.gethostname()}"
