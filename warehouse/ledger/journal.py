"""The journal: stores judge replies on disk immediately, until they are in the tables.

A journal is a JSON Lines file beside the warehouse. One process appends to it and holds a lock on
it. One system call writes each line, so that a killed process loses no recorded reply. Only the
last line can be incomplete; readers ignore it.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self
from uuid import uuid4

import orjson
import portalocker
from portalocker import LockFlags

from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from warehouse.storage.location import Location


REMOTE_IDLE_S: Final = 6 * 3600.0
"""The seconds without a write after which a journal of another machine counts as orphaned, because
not every shared file system supports locks between machines."""


def journal_folder(warehouse: Location) -> Path:
    """Return the folder of the journals of a warehouse."""
    return warehouse.with_name(warehouse.name + ".journal")


class Journal:
    """The journal of this process; `close` removes its file `path` when it is empty."""

    def __init__(self, warehouse: Location) -> None:
        folder = journal_folder(warehouse)
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{uuid4().hex}@{socket.gethostname()}"
        # Unlocked journals count as orphaned, so the file gets its name after it is locked.
        unnamed = folder / f".{name}.new"
        self._file = unnamed.open("ab", buffering=0)
        portalocker.lock(self._file, LockFlags.EXCLUSIVE | LockFlags.NON_BLOCKING)
        self.path = unnamed.rename(folder / f"{name}.jsonl")

    def write(self, kind: str, row: Mapping[str, Any]) -> None:
        """Append one row; when this returns, the operating system has it."""
        self._file.write(orjson.dumps({kind: row}, option=orjson.OPT_APPEND_NEWLINE))

    def clear(self) -> None:
        """Remove all rows after they were saved in the tables."""
        self._file.truncate(0)

    def close(self) -> None:
        """Close the journal and remove it if it is empty; otherwise a later run recovers it."""
        if os.fstat(self._file.fileno()).st_size == 0:
            self.path.unlink(missing_ok=True)
        self._file.close()

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the journal."""
        self.close()


def read_journal(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the kinds and rows of a journal; ignore an incomplete last line.

    Raises:
        WarehouseError: A line before the last is not a row.
    """
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                ((kind, row),) = orjson.loads(line).items()
            except (ValueError, AttributeError) as error:
                raise WarehouseError(
                    f"{path}, line {number}: not a row of a journal; as a last resort move the "
                    "file away: the judge is then called again for its replies"
                ) from error
            yield kind, row


@contextmanager
def orphaned_journals(warehouse: Location) -> Iterator[list[Path]]:
    """Lock the journals of killed processes and remove them at the end of the `with`.

    After an exception they are kept.
    """
    folder = journal_folder(warehouse)
    found = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    locked: list[tuple[Path, BinaryIO]] = []
    try:
        for path in found:
            file = _lock(path)
            if file is not None:
                locked.append((path, file))
        yield [path for path, _ in locked]
        for path, _ in locked:
            path.unlink()
    finally:
        for _, file in locked:
            file.close()


def _lock(path: Path) -> BinaryIO | None:
    """Open and lock an orphaned journal; return None if a process uses or removed it."""
    try:
        if _may_be_in_use_remotely(path):
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
        # The previous holder removed it before it released the lock.
        file.close()
        return None
    return file


def _may_be_in_use_remotely(path: Path) -> bool:
    host = path.stem.partition("@")[2]
    if host in {"", socket.gethostname()}:
        return False
    return time.time() - path.stat().st_mtime < REMOTE_IDLE_S
