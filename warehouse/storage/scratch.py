"""The result of a large query as a file, so that the warehouse is free while it is worked on."""

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
    """A query's result in a Parquet file; `Warehouse.spool` makes it and removes the file.

    Attributes:
        path: The Parquet file.
        rows: The number of rows in it.
    """

    path: Path
    rows: int

    def batches(self, rows: int = 50_000) -> Iterator[pl.DataFrame]:
        """The rows in frames of so many rows, the last perhaps of fewer; none when empty."""
        for number in range(-(-self.rows // rows)):
            yield self.batch(number, rows)

    def batch(self, number: int, rows: int = 50_000) -> pl.DataFrame:
        """The batch of that number, from 0, of those that `batches` gives."""
        return pl.scan_parquet(self.path, glob=False).slice(number * rows, rows).collect()

    def frame(self) -> pl.DataFrame:
        """All rows at once."""
        return pl.read_parquet(self.path, glob=False)


@dataclass(frozen=True, slots=True)
class ScratchFolder:
    """The folder beside a warehouse in which every process has a place of its own.

    Attributes:
        warehouse: The warehouse.
    """

    warehouse: Location

    @property
    def folder(self) -> Path:
        """The folder of all processes."""
        return self.warehouse.with_name(self.warehouse.name + ".scratch")

    @property
    def process_folder(self) -> Path:
        """The folder of this process; it need not exist."""
        return self.folder / f"{os.getpid()}@{socket.gethostname()}"

    @contextmanager
    def temporary_directory(self) -> Iterator[Path]:
        """A new folder in it, removed at the end of the `with`."""
        made = self._made()
        try:
            yield made
        finally:
            shutil.rmtree(made)
            for folder in (self.process_folder, self.folder):
                # Another thread or process may be using it.
                with suppress(OSError):
                    folder.rmdir()

    def _made(self) -> Path:
        while True:
            # Whoever is done may remove the folders that are still empty between the two steps.
            with suppress(FileNotFoundError):
                self.process_folder.mkdir(parents=True, exist_ok=True)
                return Path(mkdtemp(dir=self.process_folder))

    def remove_orphans(self) -> None:
        """Remove what processes of this machine left behind when they were killed."""
        if not self.folder.is_dir():
            return
        for place in self.folder.iterdir():
            pid, _, host = place.name.partition("@")
            if host == socket.gethostname() and not is_alive(int(pid)):
                shutil.rmtree(place)


def is_alive(pid: int) -> bool:
    """Whether a process of this machine is there, whoever it belongs to."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It belongs to somebody else.
        return True
    return True
