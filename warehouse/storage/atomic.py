"""Writes files atomically and durably."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path, whose file replaces the target at the end of the `with`.

    Concurrent writers each write to their own path; the last one wins. On an exception the file is
    unchanged.
    """
    with scratch_folder(target.parent) as folder:
        temporary = folder / target.name
        yield temporary
        temporary.replace(target)


def fsync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
