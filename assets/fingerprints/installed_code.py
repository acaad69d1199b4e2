"""A digest of the installed code, and a cache of what follows from it alone."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from warehouse.storage.atomic import replace_file
from warehouse.storage.file_system import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

PACKAGES: Final = (
    *("assets", "calls", "evaluators", "orchestration", "records", "systems", "warehouse"),
)


def cached_by_code(name: str, make: Callable[[], Any]) -> Any:
    """Return a value that follows from the installed code, from the user's cache if it is there.

    Args:
        name: The name of its file in the cache.
        make: Returns the value, of JSON types.
    """
    code = digest_code()
    try:
        file = cache_folder() / f"{name}.json"
    except RuntimeError:  # the user has no home directory
        return make()
    with suppress(OSError, ValueError, KeyError, TypeError):
        cached = json.loads(file.read_text(encoding="utf-8"))
        if cached["code"] == code:
            return cached["value"]
    # As JSON also where it is new, so that both ways give the same.
    text = json.dumps({"code": code, "value": make()})
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(file) as target:
            target.write_text(text, encoding="utf-8")
    return json.loads(text)["value"]


def digest_code() -> str:
    """Return a digest of Python's version, of our files and of the installed packages.

    Sizes and times stand for the contents of files: to read all takes longer than most commands.
    """
    return _digest_code(tuple(sys.path))


@cache
def _digest_code(path: Sequence[str]) -> str:
    text = json.dumps([sys.version, sorted(_code_files(path))])
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
