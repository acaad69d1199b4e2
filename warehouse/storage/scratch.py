"""Temporary files and folders: one name for all of them, and a lock that shows their owner lives.

Everything temporary is in a folder `.scoreline-<random>`, beside what it becomes or belongs to. Its
owner holds a lock on `.scoreline-<random>.lock` until it has removed both. The kernel releases the
lock when the process ends, however it ends, so that neither the number of a process, which another
one may get, nor the name of a host, which a restarted container changes, has to be compared.
Each run removes those without an owner, and so does everyone who creates another in the same place.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING
from uuid import uuid4

from calls.file_system import network_file_system

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

PREFIX, LOCK_SUFFIX = ".scoreline-", ".lock"
MEMORY = ":memory:"
"""DuckDB's name of a database in memory."""

NETWORK_AGE_S = 86_400.0
"""The age of a removable folder on a network file system, where locks may not be shared."""

_LOCK_NAME = re.compile(r"\.scoreline-[0-9a-f]{32}\.lock")
_ATTEMPTS = 100


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
        import polars as pl

        return pl.scan_parquet(self.path, glob=False).slice(number * rows, rows).collect()

    def frame(self) -> pl.DataFrame:
        """Return all rows."""
        import polars as pl

        return pl.read_parquet(self.path, glob=False)


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Create a folder that is removed at the end of the `with`.

    If the process is killed before, the next call for the same `parent` removes it.

    Args:
        parent: The folder in which it is created, which is created if necessary.
    """
    parent.mkdir(parents=True, exist_ok=True)
    remove_orphans(parent)
    with _owned_path(parent) as folder:
        folder.mkdir(mode=0o700)
        yield folder


@contextmanager
def spill_folder(parent: Path, database: str = MEMORY) -> Iterator[Path | None]:
    """Yield the folder to which a DuckDB database spills data; DuckDB creates it when it must.

    Two databases with one folder would overwrite each other's files. But all connections of a
    process to one file share one database, so they share its folder.

    Args:
        parent: The folder in which it is created.
        database: The file of the database, or `:memory:`, where each connection is a new database.

    Yields:
        The folder; null if `parent` cannot be written, so that nothing can be spilled there.
    """
    key = (os.getpid(), parent, uuid4().hex if database == MEMORY else database)
    with _SPILL_LOCK:
        shared = _SPILL.get(key)
        if shared is None:
            shared = _SPILL[key] = _SharedFolder()
            try:
                shared.path = shared.owned.enter_context(_owned_path(parent))
            except OSError:
                shared.path = None
        shared.users += 1
    try:
        yield shared.path
    finally:
        with _SPILL_LOCK:
            shared.users -= 1
            if not shared.users:
                del _SPILL[key]
                shared.owned.close()


@dataclass(slots=True)
class _SharedFolder:
    path: Path | None = None
    users: int = 0
    owned: ExitStack = field(default_factory=ExitStack)


_SPILL: dict[tuple[int, Path, str], _SharedFolder] = {}
_SPILL_LOCK = threading.RLock()
if hasattr(os, "register_at_fork"):
    # Another thread of the parent may hold it.
    os.register_at_fork(before=_SPILL_LOCK.acquire, after_in_parent=_SPILL_LOCK.release)
    os.register_at_fork(after_in_child=_SPILL_LOCK.release)


def orphans(parent: Path) -> list[Path]:
    """Return the temporary folders in a folder whose owner is dead; a folder may not exist yet."""
    found = []
    for lock in _lock_files(parent):
        file = _lock_of_dead_owner(lock)
        if file is not None:
            file.close()
            found.append(_guarded_by(lock))
    return found


def remove_orphans(parent: Path) -> list[Path]:
    """Remove the temporary folders in a folder whose owner is dead, and return their paths."""
    removed = []
    for lock in _lock_files(parent):
        file = _lock_of_dead_owner(lock)
        if file is not None:
            _remove(lock, file)
            removed.append(_guarded_by(lock))
    return removed


@contextmanager
def _owned_path(parent: Path) -> Iterator[Path]:
    """Own a path that nothing exists at; remove what it then holds."""
    lock, file = _create_lock(parent)
    owner = os.getpid()
    try:
        yield _guarded_by(lock)
    finally:
        # A forked process inherits the open file, but does not own the folder.
        if os.getpid() == owner:
            _remove(lock, file)
        else:
            file.close()


def _create_lock(parent: Path) -> tuple[Path, IO[bytes]]:
    for _ in range(_ATTEMPTS):
        lock = parent / f"{PREFIX}{uuid4().hex}{LOCK_SUFFIX}"
        file = lock.open("xb")
        # Another process may take it for that of a dead owner before it is locked.
        if _try_lock(file) and _is_at(file, lock):
            return lock, file
        file.close()
    raise OSError(f"no lock could be taken in {str(parent)!r}")


def _lock_of_dead_owner(lock: Path) -> IO[bytes] | None:
    """Lock the file of a dead owner and return it; null while the owner lives."""
    try:
        # Not through a link, which others may place in a shared folder for temporary files.
        descriptor = os.open(lock, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    file = os.fdopen(descriptor, "r+b")
    if _try_lock(file) and _is_at(file, lock) and not _may_be_remote(lock):
        return file
    file.close()
    return None


def _try_lock(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Return whether a file is still what the path names: it may have been removed meanwhile."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except OSError:
        return False


def _may_be_remote(lock: Path) -> bool:
    """Return whether a process of another machine may hold a lock that is free on this one."""
    if network_file_system(lock.parent) is None:
        return False
    folder = _guarded_by(lock)
    changed = 0.0
    for path in (lock, folder, *folder.rglob("*")):
        with suppress(FileNotFoundError):
            changed = max(changed, path.lstat().st_mtime)
    return time.time() - changed < NETWORK_AGE_S


def _remove(lock: Path, file: IO[bytes]) -> None:
    """Remove a folder and its lock, in this order: no folder is without a lock."""
    folder = _guarded_by(lock)
    shutil.rmtree(folder, ignore_errors=True)
    if os.name == "nt":
        file.close()  # Windows does not remove open files.
    if not os.path.lexists(folder):
        with suppress(OSError):
            lock.unlink()
    file.close()


def _lock_files(parent: Path) -> list[Path]:
    try:
        found = list(parent.glob(f"{PREFIX}*{LOCK_SUFFIX}"))
    except PermissionError:
        return []  # This user has created nothing in it, and can remove nothing.
    return [each for each in found if _LOCK_NAME.fullmatch(each.name)]


def _guarded_by(lock: Path) -> Path:
    return lock.with_name(lock.name.removesuffix(LOCK_SUFFIX))
