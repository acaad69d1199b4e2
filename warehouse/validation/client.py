"""Whoever holds batches against their expectations: one process, started once and kept.

Where the steps of a run have processes of their own, the run's own process starts it for all of
them: they find it by the environment that they inherit, at a socket in a folder that nobody but
their user may enter.
"""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import nullcontext, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from warehouse.errors import WarehouseError
from warehouse.storage.location import described
from warehouse.validation.expectation import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.store import Warehouse
    from warehouse.validation.expectation import Batch

TAIL = 2_000
"""The characters shown of what the process said when it ended before its time."""

COMMAND = ("-W", "ignore", "-m", "warehouse.validation.server")
ENDED = "the process that validates tables ended"

SHARED_VARIABLE = "SCORELINE_VALIDATOR"
"""Where the process listens that was started for this one, and for others of its run."""


class Validator:
    """The process that has Great Expectations loaded; it ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._said: IO[str] | None = None
        self._folder: Path | None = None
        self._alone = threading.Lock()

    def begin(self, *, shared: bool = False) -> None:
        """Start the process, so that it is ready when it is asked; at once when it runs.

        Args:
            shared: Whether processes that this one starts from now on may ask it, too.
        """
        with self._alone:
            self._started(shared=shared)

    def validate(self, warehouse: Warehouse, batches: Sequence[Batch]) -> list[Verdict]:
        """What comes of every expectation of some batches.

        Args:
            warehouse: Where the rows are; it is held for reading meanwhile.
            batches: The batches.

        Raises:
            WarehouseError: An expectation cannot be built, or the process ended.
        """
        if not batches:
            return []
        request = {
            "place": described(warehouse.path),
            "patience_s": warehouse.patience_s,
            "memory_limit": warehouse.memory_limit,
            "batches": [asdict(batch) for batch in batches],
        }
        with self._alone:
            answer = self._answer(json.dumps(request))
        if "error" in answer:
            raise WarehouseError(answer["error"])
        return [
            Verdict(
                table=batch.table,
                expectation=batch.prefix + expectation.name,
                severity=expectation.severity,
                success=found["success"],
                observed=found.get("observed"),
                unexpected=found.get("unexpected"),
                rows=tuple(found.get("rows", ())),
            )
            for batch, own in zip(batches, answer["found"], strict=True)
            for expectation, found in zip(batch.expectations, own, strict=True)
        ]

    def end(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(BrokenPipeError):
                process.communicate()
        if self._said is not None:
            self._said.close()
            self._said = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            os.environ.pop(SHARED_VARIABLE, None)
            self._folder = None

    def forget(self) -> None:
        """Leave the process to the one that started it: this is a fork of that."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None and process.stdout is not None:
            # As long as anybody can still ask on it, the process does not end.
            process.stdin.close()
            process.stdout.close()
        self._said = self._folder = None
        self._alone = threading.Lock()

    def _started(self, *, shared: bool = False) -> subprocess.Popen[str]:
        if self._process is None:
            # A file, not a pipe: nobody reads it while the process works.
            self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            with self._listening() if shared else nullcontext() as listening:
                descriptors = [] if listening is None else [listening.fileno()]
                self._process = subprocess.Popen(  # noqa: S603 - nothing that was given to us
                    [sys.executable, *COMMAND, *map(str, descriptors)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                    pass_fds=descriptors,
                    text=True,
                    encoding="utf-8",
                )
            atexit.register(self.end)
        return self._process

    def _listening(self) -> socket.socket:
        """A socket at which other processes of this user may ask."""
        self._folder = Path(tempfile.mkdtemp(prefix="scoreline-"))
        path = str(self._folder / "validator")
        made = socket.socket(socket.AF_UNIX)
        made.bind(path)
        made.listen()
        os.environ[SHARED_VARIABLE] = path
        return made

    def _answer(self, request: str) -> dict[str, Any]:
        line = _told_elsewhere(request) if self._process is None else None
        if line is None:
            line = self._told(request)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _told(self, request: str) -> str:
        process = self._started()
        if process.stdin is None or process.stdout is None:
            raise TypeError("the process has no pipes")
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            process.kill()
            told = self._tail()
            self.end()
            raise WarehouseError(f"{ENDED}: {told}")
        return line

    def _tail(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        return self._said.read()[-TAIL:].strip() or "it said nothing"


def _told_elsewhere(request: str) -> str | None:
    """The answer of a process that was started for this one; None where there is none."""
    path = os.environ.get(SHARED_VARIABLE)
    if not path:
        return None
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            # It is gone with whoever started it.
            return None
        try:
            with connection.makefile("rw", encoding="utf-8") as both:
                both.write(request + "\n")
                both.flush()
                line = both.readline()
        except OSError:
            line = ""
    if not line:
        raise WarehouseError(f"{ENDED} in the middle of its work")
    return line


VALIDATOR = Validator()
"""The one of this process: Great Expectations is loaded once, however many runs there are."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=VALIDATOR.forget)
