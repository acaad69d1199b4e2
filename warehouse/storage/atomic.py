"""Writes files atomically and durably."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def replace_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside a file, which replaces the file at the end of the `with`.

    Concurrent writers each write to their own path; the last one wins. On an exception the file is
    unchanged.
    """
    beside = target.with_name(f".{target.name}.{uuid4().hex}.tmp")
    try:
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def fsync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
