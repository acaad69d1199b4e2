"""The file lock that every process takes before it opens the warehouse."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from warehouse.errors import WarehouseError, WarehouseLocked
from warehouse.storage.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a lock exclusively, and when it took it (ISO 8601 with offset)."""

    pid: int
    host: str
    command: str
    since: str

    def __str__(self) -> str:
        since = datetime.fromisoformat(self.since).strftime("%H:%M:%S")
        is_this_process = (self.pid, self.host) == (os.getpid(), socket.gethostname())
        who = "this process" if is_this_process else f"process {self.pid}"
        return f"{who} ({self.command}) on {self.host} since {since}"

    @classmethod
    def this_process(cls) -> Holder:
        """Return a holder that describes this process."""
        since = datetime.now().astimezone().isoformat()
        return cls(os.getpid(), socket.gethostname(), this_command(), since)


def this_command() -> str:
    """Return the command that this process runs, such as `scoreline run`."""
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return " ".join([name, *sys.argv[1:2]])[:80]


@dataclass(frozen=True, slots=True)
class FileLock:
    """A lock on a file, shared by readers or held by one writer, within and across processes.

    It is an advisory lock on `<file>.lock`, which ends with the process that holds it. The writer
    describes itself in `<file>.holder`, which only serves messages: the file of a killed process
    blocks no other process.

    Attributes:
        guarded: The file or folder.
        patience_s: The seconds to wait; infinite: as long as others hold the lock.
    """

    guarded: Path
    patience_s: float

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with other readers.

        Raises:
            WarehouseLocked: A writer held it for longer than `patience_s`.
        """
        with self._open() as file:
            self._acquire(file, fcntl.LOCK_SH)
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock exclusively.

        Raises:
            WarehouseLocked: Others held it for longer than `patience_s`.
        """
        with self._open() as file:
            self._acquire(file, fcntl.LOCK_EX)
            # Only error messages need the name: a full disk does not fail the lock.
            with suppress(OSError):
                self._holder_file.write_text(json.dumps(asdict(Holder.this_process())))
            try:
                yield
            finally:
                self._holder_file.unlink(missing_ok=True)

    @property
    def _holder_file(self) -> Path:
        return self.guarded.with_name(self.guarded.name + ".holder")

    def _open(self) -> TextIO:
        path = self.guarded.with_name(self.guarded.name + ".lock")
        try:
            return path.open("a")
        except OSError as error:
            raise WarehouseError(
                f"cannot lock {str(self.guarded)!r}: {path} cannot be written: {error.strerror}"
            ) from error

    def _acquire(self, file: TextIO, kind: int) -> None:
        deadline = time.monotonic() + self.patience_s
        pause = SHORTEST_PAUSE_S
        waiting = Waiting()
        while not _try_lock(file, kind):
            left = deadline - time.monotonic()
            if left <= 0:
                raise WarehouseLocked(
                    f"{self._describe_holder(file)}; waited {self.patience_s:g} s"
                )
            waiting.tell(lambda: self._describe_holder(file))
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _describe_holder(self, file: TextIO) -> str:
        if _try_lock(file, fcntl.LOCK_SH):
            # Another writer must not wait for this one.
            fcntl.flock(file, fcntl.LOCK_UN)
            readers = " and ".join(f"process {pid}" for pid in _holders(file))
            return f"{str(self.guarded)!r} is being read by {readers or 'another process'}"
        try:
            holder = Holder(**json.loads(self._holder_file.read_text()))
        except (OSError, ValueError, TypeError):
            # The writer has just taken or released the lock.
            return f"{str(self.guarded)!r} is being written by another process"
        return f"{str(self.guarded)!r} is being written by {holder}"


def _try_lock(file: TextIO, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holders(file: TextIO) -> list[int]:
    """Return the processes of this machine that hold the lock, where Linux says so."""
    try:
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    # `1: FLOCK  ADVISORY  READ 4711 fd:01:1234 0 EOF`; waiting processes have `->` behind `1:`.
    held = [line.split() for line in lines if "->" not in line]
    inode = str(os.fstat(file.fileno()).st_ino)
    return sorted(int(fields[4]) for fields in held if fields[5].rpartition(":")[2] == inode)
