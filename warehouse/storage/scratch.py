"""Scratch files beside the warehouse, such as query results that are processed without a lock."""

from __future__ import annotations

import os
import shutil
import socket
from contextlib import contextmanager, suppress
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
class ScratchFolder:
    """The scratch folder beside a warehouse, with a subfolder for each process."""

    warehouse: Location

    @property
    def folder(self) -> Path:
        """The folder that all processes share."""
        return self.warehouse.with_name(self.warehouse.name + ".scratch")

    @property
    def process_folder(self) -> Path:
        """The subfolder of this process; it may not exist."""
        return self.folder / f"{os.getpid()}@{socket.gethostname()}"

    @contextmanager
    def temporary_directory(self) -> Iterator[Path]:
        """Create a folder that is removed at the end of the `with`."""
        created = self._create()
        try:
            yield created
        finally:
            shutil.rmtree(created)
            for folder in (self.process_folder, self.folder):
                # Another thread or process may use it.
                with suppress(OSError):
                    folder.rmdir()

    def _create(self) -> Path:
        while True:
            # Another thread may remove the empty folder between the two steps.
            with suppress(FileNotFoundError):
                self.process_folder.mkdir(parents=True, exist_ok=True)
                return Path(mkdtemp(dir=self.process_folder))

    def remove_orphans(self) -> None:
        """Remove the folders of killed processes of this machine."""
        if not self.folder.is_dir():
            return
        import psutil

        for folder in self.folder.iterdir():
            pid, _, host = folder.name.partition("@")
            if host == socket.gethostname() and not psutil.pid_exists(int(pid)):
                shutil.rmtree(folder)
