"""The journal: what a judge said, on disk the moment it is said, until the tables have it.

A journal is a file of JSON lines beside the warehouse, appended to by one process that holds a lock
on it. Each line is written at once by one call of the operating system, so that a process that is
killed loses nothing that it had kept; a line that was cut off is the last one, and is left out.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self
from uuid import uuid4

import orjson
import portalocker
from portalocker import LockFlags

from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from warehouse.storage.location import Location


REMOTE_IDLE_S: Final = 6 * 3600.0
"""How long nothing was written to another machine's journal before it counts as left behind: not
every file system that machines share knows the locks of the others."""


def journal_folder(warehouse: Location) -> Path:
    """The folder of the journals of a warehouse."""
    return warehouse.with_name(warehouse.name + ".journal")


class Journal:
    """A journal that this process writes; removed when it is closed and everything was taken over.

    Attributes:
        path: The file.
    """

    def __init__(self, warehouse: Location) -> None:
        folder = journal_folder(warehouse)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{uuid4().hex}@{socket.gethostname()}"
        # A journal that nobody holds counts as left behind: it gets its name when it is locked.
        unnamed = folder / f".{name}.new"
        self._file = unnamed.open("ab", buffering=0)
        portalocker.lock(self._file, LockFlags.EXCLUSIVE | LockFlags.NON_BLOCKING)
        self.path = unnamed.rename(folder / f"{name}.jsonl")

    def write(self, kind: str, row: Mapping[str, Any]) -> None:
        """Append one row; it is on its way to the disk when this returns."""
        self._file.write(orjson.dumps({kind: row}, option=orjson.OPT_APPEND_NEWLINE))

    def clear(self) -> None:
        """Forget what was written; for when the tables have it."""
        self._file.truncate(0)

    def close(self) -> None:
        """Remove the journal if it is empty; leave it to be recovered otherwise."""
        if os.fstat(self._file.fileno()).st_size == 0:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Self:
        """Write to it within a `with`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it, whatever happened."""
        self.close()


@dataclass(frozen=True, slots=True)
class OrphanedJournal:
    """A journal that a process left behind when it was killed.

    Attributes:
        path: The file.
    """

    path: Path

    def entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Its rows with their kinds, in the order in which they were written."""
        return read_journal(self.path)


def read_journal(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a journal with their kinds; a last line that was cut off is left out.

    Raises:
        WarehouseError: A line before the last is no row.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                ((kind, row),) = orjson.loads(line).items()
            except (ValueError, AttributeError) as error:
                raise WarehouseError(
                    f"{path}, line {number}: not a row of a journal; if nothing else helps, move "
                    "the file away: what it holds will be asked again"
                ) from error
            yield kind, row


@contextmanager
def orphaned_journals(warehouse: Location) -> Iterator[list[OrphanedJournal]]:
    """The journals of processes that are gone, held so that no other process takes them.

    They are removed at the end of the `with`, unless an exception ends it.
    """
    folder = journal_folder(warehouse)
    found = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    held: list[tuple[Path, BinaryIO]] = []
    try:
        for path in found:
            file = _taken(path)
            if file is not None:
                held.append((path, file))
        yield [OrphanedJournal(path) for path, _ in held]
        for path, _ in held:
            path.unlink()
    finally:
        for _, file in held:
            file.close()


def _taken(path: Path) -> BinaryIO | None:
    """A journal that nobody writes any more, locked; None where it is another's, or gone."""
    try:
        if _may_be_written_elsewhere(path):
            return None
        file = path.open("rb")
    except FileNotFoundError:
        return None
    try:
        portalocker.lock(file, LockFlags.EXCLUSIVE | LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        file.close()
        return None
    if os.fstat(file.fileno()).st_nlink == 0:
        # Whoever held it has removed it before letting go.
        file.close()
        return None
    return file


def _may_be_written_elsewhere(path: Path) -> bool:
    host = path.stem.partition("@")[2]
    if host in {"", socket.gethostname()}:
        return False
    return time.time() - path.stat().st_mtime < REMOTE_IDLE_S
