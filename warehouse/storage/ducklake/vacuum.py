"""Removes old snapshots and unused files of a lake."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from warehouse.storage.ducklake.write_lock import write_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

    from warehouse.storage.ducklake.storage import LakeStorage

SMALL_BYTES = 8_000_000
"""The size below which files are worth merging."""

MIN_FILES = 20
"""The number of small files and delete files from which on merging pays off."""

GRACE_DAYS = 1.0
"""The days for which unused files are kept, because a process may still use them."""


@dataclass(frozen=True, slots=True)
class RemovableFiles:
    """The number of files that a lake can do without.

    Attributes:
        mergeable: Small files that can be merged into a larger one.
        deletions: Delete files.
        dropped: Files of expired snapshots.
        orphaned: Files of killed writers, which are not in the catalog.
    """

    mergeable: int
    deletions: int
    dropped: int
    orphaned: int

    @property
    def is_worth_it(self) -> bool:
        """Whether there are enough of them."""
        return self.mergeable + self.deletions >= MIN_FILES or self.dropped + self.orphaned > 0


def count_expired_snapshots(storage: LakeStorage, days: float) -> int:
    """Return the number of snapshots older than some days, without the current one."""
    return len(_expired(storage, days, dry_run=True))


def expire_snapshots(storage: LakeStorage, days: float) -> int:
    """Expire the snapshots older than some days; return their number.

    Their files stay until `compact_files` removes them.
    """
    with write_lock(storage.session().guard(), storage.lake, storage.patience_s):
        return len(_expired(storage, days, dry_run=False))


def count_removable_files(storage: LakeStorage, days: float) -> RemovableFiles:
    """Return how many files a lake can do without, without changing it."""
    with _cursor(storage) as cursor:
        tables = cursor.execute(
            "SELECT file_count, file_size_bytes, delete_file_count FROM ducklake_table_info('lake')"
        ).fetchall()
        dropped, orphaned = (
            len(_call(cursor, f"{name}('lake', dry_run => true, older_than => $before)", days))
            for name in ("ducklake_cleanup_old_files", "ducklake_delete_orphaned_files")
        )
    small = [count - 1 for count, size, _ in tables if count > 1 and size / count < SMALL_BYTES]
    return RemovableFiles(sum(small), sum(deleted for *_, deleted in tables), dropped, orphaned)


def compact_files(storage: LakeStorage, days: float) -> None:
    """Merge small files, rewrite files with deleted rows and remove unused files.

    Writers wait meanwhile, readers do not.
    """
    with (
        _cursor(storage) as cursor,
        write_lock(storage.session().guard(), storage.lake, storage.patience_s),
    ):
        for name in (
            "ducklake_flush_inlined_data",
            "ducklake_rewrite_data_files",
            "ducklake_merge_adjacent_files",
        ):
            cursor.execute(f"CALL {name}('lake')").fetchall()
        for name in ("ducklake_cleanup_old_files", "ducklake_delete_orphaned_files"):
            _call(cursor, f"{name}('lake', older_than => $before)", days)


def _expired(storage: LakeStorage, days: float, *, dry_run: bool) -> list[Any]:
    with _cursor(storage) as cursor:
        return cursor.execute(
            "CALL ducklake_expire_snapshots('lake', dry_run => $dry_run, older_than => $before)",
            {"dry_run": dry_run, "before": _before(days)},
        ).fetchall()


def _call(cursor: duckdb.DuckDBPyConnection, function: str, days: float) -> list[Any]:
    before = _before(min(days, GRACE_DAYS))
    return cursor.execute(f"CALL {function}", {"before": before}).fetchall()


def _before(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


@contextmanager
def _cursor(storage: LakeStorage) -> Iterator[duckdb.DuckDBPyConnection]:
    with storage.cursor(storage.session()) as cursor:
        yield cursor
