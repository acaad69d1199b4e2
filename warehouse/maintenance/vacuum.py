"""Maintenance tasks that shrink a warehouse without deleting rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from warehouse.maintenance.compact import compact, measure_space
from warehouse.storage.location import Lake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from warehouse.store import Warehouse

TASK_NAMES = ("snapshots", "files", "space")
"""The names of all tasks, in the order in which they run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceTask:
    """A task that shrinks a warehouse and changes no rows; `what` and `amount` describe it."""

    name: str
    what: str
    amount: str
    run: Callable[[], object]


def maintenance_tasks(warehouse: Warehouse, days: float) -> Iterator[MaintenanceTask]:
    """Yield the tasks that pay off now, without running them.

    Snapshots of a lake that are older than `days` are removed.
    """
    if isinstance(warehouse.path, Lake):
        yield from _lake_tasks(warehouse, days)
        return
    space = measure_space(warehouse)
    if space.is_worth_it:
        yield MaintenanceTask(
            name="space",
            what="free space in the warehouse file, which is rewritten",
            amount=f"{space.free_bytes / 1e6:,.0f} of {space.total_bytes / 1e6:,.0f} MB",
            run=partial(compact, warehouse),
        )


def _lake_tasks(warehouse: Warehouse, days: float) -> Iterator[MaintenanceTask]:
    from warehouse.storage.ducklake import vacuum
    from warehouse.storage.ducklake.storage import LakeStorage

    storage = warehouse.storage
    if not isinstance(storage, LakeStorage):
        raise TypeError(f"expected a lake, got {type(storage).__name__}")
    snapshots = vacuum.count_expired_snapshots(storage, days)
    if snapshots:
        yield MaintenanceTask(
            name="snapshots",
            what="old snapshots of the lake; the current rows stay",
            amount=f"{snapshots:,} snapshots",
            run=partial(vacuum.expire_snapshots, storage, days),
        )
    files = vacuum.count_removable_files(storage, days)
    if files.is_worth_it:
        yield MaintenanceTask(
            name="files",
            what="small files of the lake, and files of expired snapshots",
            amount=f"{files.mergeable + files.deletions:,} to merge, "
            f"{files.dropped + files.orphaned:,} to remove",
            run=partial(vacuum.compact_files, storage, days),
        )
