"""What a warehouse may be rid of besides rows: free space, earlier states, files."""

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
"""The names of all chores, in the order in which they are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceTask:
    """Something to do about a warehouse that makes it smaller and changes none of its rows.

    Attributes:
        name: What it is called.
        what: What goes.
        amount: How much of it there is, in words.
        carry_out: Does it.
    """

    name: str
    what: str
    amount: str
    run: Callable[[], object]


def maintenance_tasks(warehouse: Warehouse, days: float) -> Iterator[MaintenanceTask]:
    """What is worth doing now; nothing is changed by looking.

    Args:
        warehouse: The warehouse.
        days: How old an earlier state of a lake must be.
    """
    if isinstance(warehouse.path, Lake):
        yield from _lake_tasks(warehouse, days)
        return
    room = measure_space(warehouse)
    if room.is_worth_it:
        yield MaintenanceTask(
            name="space",
            what="free space within the warehouse file; it is written anew",
            amount=f"{room.free_bytes / 1e6:,.0f} of {room.total_bytes / 1e6:,.0f} MB",
            run=partial(compact, warehouse),
        )


def _lake_tasks(warehouse: Warehouse, days: float) -> Iterator[MaintenanceTask]:
    from warehouse.storage.ducklake import vacuum
    from warehouse.storage.ducklake.storage import LakeStorage

    storage = warehouse.storage
    if not isinstance(storage, LakeStorage):
        raise TypeError(f"expected a lake, got {type(storage).__name__}")
    states = vacuum.count_expired_snapshots(storage, days)
    if states:
        yield MaintenanceTask(
            name="snapshots",
            what="earlier states of the lake; what is in the tables now stays",
            amount=f"{states:,} states",
            run=partial(vacuum.expire_snapshots, storage, days),
        )
    found = vacuum.count_removable_files(storage, days)
    if found.is_worth_it:
        yield MaintenanceTask(
            name="files",
            what="small files of the lake to be merged, and files of no state that is kept",
            amount=f"{found.mergeable + found.deletions:,} to merge, "
            f"{found.dropped + found.orphaned:,} to remove",
            run=partial(vacuum.compact_files, storage, days),
        )
