"""A real `scoreline worker`, started and ended by a test."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 90.0


@contextmanager
def worker(folder: Path, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of the project in a folder, ready for steps; ended at the end of the `with`."""
    log = folder / "worker.log"
    with (
        log.open("wb") as said,
        subprocess.Popen(
            [sys.executable, "-m", "orchestration.cli", "worker"],
            cwd=folder,
            env={**os.environ, **variables},
            stdout=said,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            deadline = time.monotonic() + PATIENCE_S
            while b" ready." not in log.read_bytes():
                assert process.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
                time.sleep(0.2)
            yield process
        finally:
            process.terminate()
