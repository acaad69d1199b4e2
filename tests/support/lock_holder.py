"""Another process that holds the lock of a file."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from warehouse.storage.file_lock import FileLock
with getattr(FileLock(Path(sys.argv[1]), 1.0), sys.argv[2])():
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def holder(path: Path, kind: str) -> Iterator[subprocess.Popen[str]]:
    """Have another process hold a lock, `shared` or `exclusive`, until the end of the `with`."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), kind],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
