"""The file lock through which every process reaches the warehouse."""

from __future__ import annotations

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

import portalocker
from portalocker import LockFlags

from warehouse.errors import WarehouseError, WarehouseLocked

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock exclusively.

    Attributes:
        pid: The process.
        host: The machine that it runs on.
        command: What it was started as, such as `scoreline run`.
        since: When it took the lock, in local time with its offset, as ISO 8601.
    """

    pid: int
    host: str
    command: str
    since: str

    def __str__(self) -> str:
        since = datetime.fromisoformat(self.since).strftime("%H:%M:%S")
        who = "this very process" if self.is_this_process else f"process {self.pid}"
        return f"{who} ({self.command}) on {self.host} since {since}"

    @property
    def is_this_process(self) -> bool:
        """Whether this process is the holder, perhaps in another thread."""
        return self.pid == os.getpid() and self.host == socket.gethostname()

    @classmethod
    def this_process(cls) -> Holder:
        """This process, from now on."""
        return cls(
            pid=os.getpid(),
            host=socket.gethostname(),
            command=_command(),
            since=datetime.now().astimezone().isoformat(),
        )


def _command() -> str:
    program = Path(sys.argv[0])
    name = program.parent.name if program.name == "__main__.py" else program.name
    return " ".join([name, *sys.argv[1:2]])[:80]


@dataclass(frozen=True, slots=True)
class FileLock:
    """A lock on a file, shared by readers or held by one writer, in this or other processes.

    It guards the file by agreement: it is an advisory lock on `<file>.lock` beside it. The
    writer leaves its name in `<file>.holder`; that file only serves the error message, so one
    that a killed process left behind blocks nobody.

    Attributes:
        guarded: The file that the lock is about.
        patience_s: The seconds that one waits for the lock.
    """

    guarded: Path
    patience_s: float

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with other readers.

        Raises:
            WarehouseLocked: A writer held it for longer than the patience.
        """
        with self._opened() as file:
            self._acquire(file, LockFlags.SHARED)
            yield

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the lock alone.

        Raises:
            WarehouseLocked: Others held it for longer than the patience.
        """
        with self._opened() as file:
            self._acquire(file, LockFlags.EXCLUSIVE)
            # Only an error message would miss the name: a full disk is no reason to stop here.
            with suppress(OSError):
                self._holder_file.write_text(json.dumps(asdict(Holder.this_process())))
            try:
                yield
            finally:
                self._holder_file.unlink(missing_ok=True)

    @property
    def _holder_file(self) -> Path:
        return self.guarded.with_name(self.guarded.name + ".holder")

    def _opened(self) -> TextIO:
        path = self.guarded.with_name(self.guarded.name + ".lock")
        try:
            return path.open("a")
        except OSError as error:
            raise WarehouseError(
                f"cannot lock {str(self.guarded)!r}: {path} cannot be written: {error.strerror}"
            ) from error

    def _acquire(self, file: TextIO, kind: LockFlags) -> None:
        deadline = time.monotonic() + self.patience_s
        pause = SHORTEST_PAUSE_S
        while not _taken(file, kind):
            left = deadline - time.monotonic()
            if left <= 0:
                raise WarehouseLocked(self._who(file))
            time.sleep(min(pause, left))
            pause = min(2 * pause, LONGEST_PAUSE_S)

    def _who(self, file: TextIO) -> str:
        waited = f"waited {self.patience_s:g} s"
        only_readers = _taken(file, LockFlags.SHARED)
        if only_readers:
            return f"{str(self.guarded)!r} is being read by another process; {waited}"
        try:
            holder = Holder(**json.loads(self._holder_file.read_text()))
        except (OSError, ValueError, TypeError):
            # The writer has just come or just gone, and its name is not there to be read.
            return f"{str(self.guarded)!r} is being written by another process; {waited}"
        return f"{str(self.guarded)!r} is being written by {holder}; {waited}"


def _taken(file: TextIO, kind: LockFlags) -> bool:
    try:
        portalocker.lock(file, kind | LockFlags.NON_BLOCKING)
    except portalocker.AlreadyLocked:
        return False
    return True
