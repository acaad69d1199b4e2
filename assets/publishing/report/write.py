"""Write the report of a published copy: a folder per benchmark, then the first page."""

from __future__ import annotations

import json
import math
import shutil
from typing import TYPE_CHECKING

from assets.fingerprints.digests import digest_of
from assets.fingerprints.published import publication_digest
from assets.fingerprints.report_files import (
    EXPECTATIONS_FILE,
    FOLDER,
    STATE_FILE,
    is_complete,
    write_sizes,
)
from assets.project import REPORT_FILE
from assets.publishing.report.benchmark_page import CARD_FILE, shared_files, write_folder
from assets.publishing.report.index_page import index_card, index_page
from assets.publishing.report.panel import BenchmarkData, folder_name
from assets.publishing.report.part import split_parts
from warehouse.queries.report import answer_counts, report_fingerprints
from warehouse.storage.atomic import replace_file
from warehouse.storage.file_lock import FileLock
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.publish.snapshot import OpenSnapshot, Snapshot

PAGE_VERSION = 19
"""Increment it when the same data gives other pages; `shared_files` have names of their own."""

EXPECTATIONS = """
SELECT count(*), count(*) FILTER (success = 0)
FROM (
    SELECT success FROM validations
    QUALIFY validated_at = max(validated_at) OVER (PARTITION BY "table")
)
"""
"""Counts the expectations of the last validations, and those that failed."""


def write_report(copy: Snapshot, publish: Path) -> Path:
    """Write the report of a published copy.

    The name of a benchmark's folder contains the digest of its contents, so a folder that exists
    is up to date. A new folder gets its name when it is complete. Then the first page is replaced
    in one step: a reader sees the old report or the new one. The files of the previous report stay
    until the next run, for readers who still have its first page open.

    Args:
        copy: The published copy.
        publish: The folder that receives `index.html` and `report/`.

    Returns:
        The path of the first page.
    """
    root = publish / FOLDER
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(root / ".writing", math.inf).exclusive(), copy.open() as snapshot:
        _write_shared_files(root)
        folders, cards = {}, {}
        for data in _write_benchmarks(snapshot, root):
            file = root / data.folder / CARD_FILE
            card = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
            folders[data.benchmark], cards[data.benchmark] = data.folder, index_card(data, **card)
        page = publish / REPORT_FILE
        with replace_file(page) as partial:
            found = [cards[name] for name in sorted(cards)]
            has_expectations = (publish / EXPECTATIONS_FILE).is_file()
            counts = snapshot.fetch(EXPECTATIONS).row(0) if has_expectations else None
            text = index_page(found, publication_digest(snapshot), counts)
            partial.write_text(text, encoding="utf-8")
        _remove_outdated(root, {*folders.values(), *shared_files()})
    return page


def _write_shared_files(root: Path) -> None:
    for name, make in shared_files().items():
        if not is_complete(root / name):
            with replace_file(root / name) as partial:
                partial.write_text(make(), encoding="utf-8")


def _write_benchmarks(snapshot: OpenSnapshot, root: Path) -> Iterator[BenchmarkData]:
    """Write the missing folders of benchmarks, and yield the data of all."""
    digests = {
        name: digest_of(digest_of(sums), PAGE_VERSION, *shared_files())[:12]
        for name, *sums in snapshot.fetch(*report_fingerprints()).iter_rows()
    }
    answers = dict(snapshot.fetch(*answer_counts()).iter_rows())
    outdated: list[str] = []
    current: list[str] = []
    for name, digest in digests.items():
        missing = not is_complete(root / folder_name(name, digest))
        (outdated if missing else current).append(name)
    for is_missing, names in ((True, outdated), (False, current)):
        for part in split_parts(snapshot, {name: answers.get(name, 0) for name in names}):
            for name in part.benchmarks:
                data = BenchmarkData(part, name, digests[name])
                if is_missing:
                    with scratch_folder(root) as scratch:
                        write_folder(data, scratch / data.folder)
                        write_sizes(scratch / data.folder)
                        if (root / data.folder).exists():
                            # Files were removed or changed.
                            (root / data.folder).replace(scratch / "damaged")
                        (scratch / data.folder).replace(root / data.folder)
                yield data


def _remove_outdated(root: Path, current: set[str]) -> None:
    """Remove folders and shared files that neither this report nor the previous one needs."""
    state = root / STATE_FILE
    previous = set(json.loads(state.read_text(encoding="utf-8"))) if state.is_file() else set()
    for path in root.iterdir():
        if path.name in current | previous:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix in (".css", ".js"):
            path.unlink()
    if previous != current:
        state.write_text(json.dumps(sorted(current)), encoding="utf-8")
