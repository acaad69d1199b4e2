"""The memory of this machine or container, and DuckDB's share of it."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMORY_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)

THREAD_BYTES = 100_000_000
"""The memory that each of DuckDB's threads needs to sort and join on disk.

With 150 MB, two threads sort 400 MB of text; with 100 MB, only one does.
"""

SMALL_BYTES = 32_000_000
"""The size up to which one thread reads a file.

Queries of so few rows have nothing to share, but each wakes the other threads: a small run took a
tenth more processor time on two cores, and was no faster.
"""


def parse_memory(text: str) -> int:
    """Return a size such as `4GB` (10^9 bytes each) or `512MiB` (2^20 bytes each) in bytes.

    Raises:
        ValueError: It is not such a size.
    """
    found = MEMORY_SIZE.fullmatch(text.strip())
    if found is None:
        raise ValueError("expected a size such as 4GB or 512MB")
    number, unit, is_binary = found.groups()
    return int(float(number) * (1024 if is_binary else 1000) ** ("KMGT".index(unit.upper()) + 1))


def thread_count(memory_limit: str) -> int:
    """Return the number of DuckDB's threads: one for each core, if each has enough memory."""
    return max(1, min(os.cpu_count() or 1, parse_memory(memory_limit) // THREAD_BYTES))


@cache
def default_memory_limit() -> str:
    """Return half of the memory that this process may use, in DuckDB's notation."""
    return f"{max(THREAD_BYTES, available_memory() // 2) // 1000}KB"


def available_memory(root: Path = Path("/")) -> int:
    """Return the memory that this process may use in bytes.

    It is the smallest of the machine's memory and the limits of the process's control groups and
    of all groups around them. Containers have such limits, but report the memory of the machine.

    Args:
        root: The root of the file system with `proc` and `sys`.
    """
    import psutil

    return min([int(psutil.virtual_memory().total), *_cgroup_limits(root)])


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Yield the limits of control groups, of version 2 and 1."""
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        # Other systems have no control groups.
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            mount, names = root / "sys/fs/cgroup", ["memory.max", "memory.high"]
        elif "memory" in controllers.split(","):
            mount, names = root / "sys/fs/cgroup/memory", ["memory.limit_in_bytes"]
        else:
            continue
        # In a container the path may be that of the host, which is not mounted: then only the
        # group at the mount exists, which is the container's.
        group = mount / path.lstrip("/")
        for folder in (group, *group.parents):
            for name in names:
                if (limit := _read_limit(folder / name)) is not None:
                    yield limit
            if folder == mount:
                break


def _read_limit(file: Path) -> int | None:
    """Return the limit in a file; None if there is no limit or no such file."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
