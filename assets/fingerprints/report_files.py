"""The files of a report, and whether all of them are there.

It needs only the standard library: a rerun with nothing changed checks the files, too.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

FOLDER: Final = "report"
"""The folder of a report, beside its first page."""

STATE_FILE: Final = ".folders.json"
"""The names of the files and folders that the current first page needs."""

FILES: Final = ".files.json"
"""In the folder of a benchmark: the sizes of its files, by their paths in it."""


EXPECTATIONS_FILE: Final = "expectations.html"
"""The page with the results of expectations, which a project may lack."""


def write_sizes(folder: Path) -> None:
    """Record the files of a complete folder."""
    sizes = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in folder.rglob("*")
        if path.is_file()
    }
    (folder / FILES).write_text(json.dumps(sizes), encoding="utf-8")


def is_complete(path: Path) -> bool:
    """Return whether a file is not empty, or a folder has all files as they were written."""
    try:
        if not path.is_dir():
            return path.stat().st_size > 0
        sizes = json.loads((path / FILES).read_text(encoding="utf-8"))
        return all((path / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


def is_report_complete(publish: Path, first_page: str) -> bool:
    """Return whether a published report has its first page and all that the page links to."""
    root = publish / FOLDER
    try:
        names = json.loads((root / STATE_FILE).read_text(encoding="utf-8"))
        text = (publish / first_page).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    linked = [root / name for name in names]
    if EXPECTATIONS_FILE in text:
        linked.append(publish / EXPECTATIONS_FILE)
    return all(map(is_complete, linked))
