"""A digest of the installed code."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGES: Final = (
    *("assets", "calls", "evaluators", "orchestration", "records", "systems", "warehouse"),
)


def digest_code() -> str:
    """Return a digest of Python's version, of our files and of the installed packages.

    Sizes and times stand for the contents of files: to read all takes longer than most commands.
    """
    text = json.dumps([sys.version, sorted(_code_files(sys.path))])
    return hashlib.sha256(text.encode()).hexdigest()


def _code_files(path: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield what identifies the code: our files, and the metadata of all installed packages.

    Signatures of evaluators contain versions of libraries.
    """
    folders = [str(Path(__file__).parents[2] / name) for name in PACKAGES]
    while folders:
        for entry in _entries(folders.pop()):
            if entry.is_dir():
                if entry.name != "__pycache__":
                    folders.append(entry.path)
            else:
                yield entry.path, entry.stat().st_size, entry.stat().st_mtime_ns
    for folder in path:
        for entry in _entries(folder):
            if entry.name.endswith((".dist-info", ".egg-info")):
                yield entry.path, 0, entry.stat().st_mtime_ns


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or ".") as entries:
            return list(entries)
    except OSError:
        # An archive, or a folder that does not exist.
        return []
