"""Writing the report: each benchmark's folder beside the old one, then the first page at once."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

from assets.project import REPORT_FILE
from assets.publishing.report import page_data
from assets.publishing.report.benchmark_folder import write_folder
from assets.publishing.report.index_page import write_overview
from warehouse.storage.atomic import replace_file
from warehouse.storage.file_lock import FileLock

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.publish.snapshot import OpenSnapshot, Snapshot

FOLDER = "report"
MADE_BY = 2
"""Raised when the same data gives other pages."""

_KEPT = ".folders.json"


def write_report(copy: Snapshot, publish: Path, patience_s: float = 60.0) -> Path:
    """Write the report of a published copy.

    Every benchmark has a folder whose name tells what it was made from. One that is already there
    is left as it is; a new one is written beside and renamed when it is whole. Then the first
    page, which leads to them, takes the place of the old one by a rename: a reader sees the old
    report or the new one. The folders of the report before stay until the next, for readers who
    have its first page open.

    Args:
        copy: The published copy.
        publish: The folder that receives `index.html` and `report/`.
        patience_s: The seconds to wait while another process writes a report there.

    Returns:
        The path of the first page.

    Raises:
        WarehouseLocked: Another process goes on writing.
    """
    root = publish / FOLDER
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / ".writing", patience_s).exclusive(), copy.open() as held:
        made = {name: _folder(held, name, root) for name in page_data.benchmarks(held)}
        page = publish / REPORT_FILE
        with replace_file(page) as beside:
            beside.write_text(write_overview(held, made), encoding="utf-8")
        _tidy(root, set(made.values()))
    return page


def _folder(copy: OpenSnapshot, benchmark: str, root: Path) -> str:
    digest = page_data.digest(copy, benchmark)
    name = f"{benchmark}-{digest}-{MADE_BY}"
    if not (root / name).is_dir():
        beside = root / f".{name}.tmp"
        shutil.rmtree(beside, ignore_errors=True)
        try:
            write_folder(copy, benchmark, digest, beside)
            beside.replace(root / name)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return name


def _tidy(root: Path, current: set[str]) -> None:
    """Remove folders that neither this report nor the one before leads to."""
    kept = root / _KEPT
    before = set(json.loads(kept.read_text(encoding="utf-8"))) if kept.is_file() else set()
    for folder in root.iterdir():
        if folder.is_dir() and folder.name not in current | before:
            shutil.rmtree(folder)
    if before != current:
        kept.write_text(json.dumps(sorted(current)), encoding="utf-8")
