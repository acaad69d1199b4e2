"""What a lake may be rid of: earlier states of its tables, and files that nothing needs."""

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
"""Files below this size are worth merging when there are many."""

MIN_FILES = 20
"""The small files, or files of deleted rows, from which on it is worth its time."""

GRACE_DAYS = 1.0
"""How long a file that nothing refers to is kept: somebody may still be reading or writing it."""


@dataclass(frozen=True, slots=True)
class RemovableFiles:
    """The files of a lake, as far as they could be fewer.

    Attributes:
        mergeable: Small files that could be part of a larger one.
        deletions: Files that say which rows of others are deleted.
        dropped: Files of no state that is still kept.
        strays: Files that no catalogue knows: of writers that were killed.
    """

    mergeable: int
    deletions: int
    dropped: int
    strays: int

    @property
    def is_worth_it(self) -> bool:
        """Whether there are many that could go."""
        return self.mergeable + self.deletions >= MIN_FILES or self.dropped + self.strays > 0


def count_expired_snapshots(storage: LakeStorage, days: float) -> int:
    """The states of a lake that are older than so many days; the present one never counts."""
    return len(_expired(storage, days, dry_run=True))


def expire_snapshots(storage: LakeStorage, days: float) -> int:
    """Forget the states that are older than so many days; returns how many they were.

    Their files stay until `tidy` removes them.
    """
    with write_lock(storage.session().guard(), storage.lake, storage.patience_s):
        return len(_expired(storage, days, dry_run=False))


def count_removable_files(storage: LakeStorage, days: float) -> RemovableFiles:
    """How many files a lake could do without; nothing is changed by looking."""
    with _cursor(storage) as cursor:
        tables = cursor.execute(
            "SELECT file_count, file_size_bytes, delete_file_count FROM ducklake_table_info('lake')"
        ).fetchall()
        dropped, strays = (
            len(_call(cursor, f"{name}('lake', dry_run => true, older_than => $before)", days))
            for name in ("ducklake_cleanup_old_files", "ducklake_delete_orphaned_files")
        )
    small = [count - 1 for count, size, _ in tables if count > 1 and size / count < SMALL_BYTES]
    return RemovableFiles(sum(small), sum(deleted for *_, deleted in tables), dropped, strays)


def compact_files(storage: LakeStorage, days: float) -> None:
    """Merge small files, take deleted rows out, and remove files that nothing refers to.

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
