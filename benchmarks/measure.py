"""Runs programs as whole processes and says what they cost; prints tables."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# ru_maxrss counts kilobytes on Linux and bytes on macOS.
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took: seconds on the clock, processor seconds, and the peak of its memory."""

    wall_s: float
    cpu_s: float
    peak_bytes: int

    @property
    def peak_mb(self) -> float:
        """The peak of resident memory in MB of 10^6 bytes."""
        return self.peak_bytes / 1e6


def cost_of(command: Sequence[str], *, folder: Path) -> Cost:
    """Run a command to its end, with its output in `folder`/output.txt.

    Args:
        command: The program's path and its arguments.
        folder: The working directory.

    Returns:
        Its cost, that of the processes it started and waited for included.

    Raises:
        RuntimeError: When it fails; with the end of its output.
    """
    output = folder / "output.txt"
    # Installed packages have compiled modules; an environment without them measures compiling.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with output.open("wb") as file:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=file, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        told = output.read_text(encoding="utf-8", errors="replace")[-4000:]
        raise RuntimeError(f"{' '.join(command)} failed:\n{told}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT)


def program(name: str) -> str:
    """The path of a program of the running environment."""
    return str(Path(sys.executable).with_name(name))


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, ready to be pasted into `docs/benchmarks.md`."""
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        padded = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
        return "| " + " | ".join(padded) + " |"

    rule = "| " + " | ".join("-" * (width - 1) + ":" for width in widths) + " |"
    return "\n".join([line(heads), rule, *(line(row) for row in rows)])
