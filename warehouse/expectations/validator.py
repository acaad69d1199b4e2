"""Whoever holds batches against their expectations: one process, started once and kept."""

from __future__ import annotations

import atexit
import json
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import IO, TYPE_CHECKING, Any

from warehouse.errors import WarehouseError
from warehouse.expectations.expectation import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.expectations.expectation import Batch
    from warehouse.store import Warehouse

TAIL = 2_000
"""The characters shown of what the process said when it ended before its time."""


class Validator:
    """The process that has Great Expectations loaded; it ends with this one."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._said: IO[str] | None = None
        self._alone = threading.Lock()

    def begin(self) -> None:
        """Start the process, so that it is ready when it is asked; at once when it runs."""
        with self._alone:
            self._started()

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
            "path": str(warehouse.path),
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

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            # A file, not a pipe: nobody reads it while the process works.
            self._said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
            self._process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "warehouse.expectations.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                text=True,
                encoding="utf-8",
            )
            atexit.register(self.end)
        return self._process

    def _answer(self, request: str) -> dict[str, Any]:
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
            raise WarehouseError(f"the process that validates tables ended: {told}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _tail(self) -> str:
        if self._said is None:
            return ""
        self._said.seek(0)
        return self._said.read()[-TAIL:].strip() or "it said nothing"


VALIDATOR = Validator()
"""The one of this process: Great Expectations is loaded once, however many runs there are."""
