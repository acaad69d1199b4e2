"""Find and remove data that no result of a project needs."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from orchestration import instance
from orchestration.leftovers import find_leftovers, remove_leftovers
from orchestration.runs.run_files import describe_damage, run_files, shrink_databases
from warehouse.maintenance import retention, vacuum
from warehouse.storage.migrate import list_backups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from assets.project import Project

DAYS = 90.0
"""The default age from which data is removable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupItem:
    """Data that can be removed.

    Attributes:
        name: The name for the command line.
        description: What the data is.
        amount: The number of rows, files or megabytes, as text.
        only_by_name: Whether it is removed only by name, because it cost money or time to create,
            or is a backup.
        remove: Removes it.
    """

    name: str
    description: str
    amount: str
    only_by_name: bool = False
    remove: Callable[[], object]


NAMES = (
    "temporary",
    *retention.RETENTION_RULES,
    "runs",
    "backups",
    "encodings",
    *vacuum.TASK_NAMES,
)
"""The names of all items, in the order of their removal: free space comes last."""


def find_items(project: Project, days: float = DAYS) -> Iterator[CleanupItem]:
    """Find the data that can be removed; change nothing.

    Args:
        project: The project.
        days: The least age of the data.
    """
    leftovers = find_leftovers(project)
    if leftovers:
        files = [each for folder in leftovers for each in folder.rglob("*") if each.is_file()]
        places = ", ".join(sorted({str(each.parent) for each in leftovers}))
        yield CleanupItem(
            name="temporary",
            description=f"files of processes that were killed, in {places}",
            amount=f"{len(leftovers)}, {_megabytes(files)}",
            remove=partial(remove_leftovers, project),
        )
    warehouse = project.open_warehouse()
    if warehouse.exists():
        for name, leftover in retention.RETENTION_RULES.items():
            rows = retention.count_expired(warehouse, leftover, days)
            if rows:
                yield CleanupItem(
                    name=name,
                    description=leftover.what,
                    amount=f"{rows:,} rows",
                    only_by_name=leftover.paid,
                    remove=partial(retention.delete_expired, warehouse, leftover, days),
                )
    yield from _runs(project, days)
    backups = list_backups(project.warehouse)
    if backups:
        yield CleanupItem(
            name="backups",
            description="copies of the warehouse from before a migration",
            amount=f"{len(backups)} files, {_megabytes(backups)}",
            only_by_name=True,
            remove=partial(_unlink, backups),
        )
    encodings = project.warehouse.parent / "encodings"
    if encodings.is_dir():
        files = [each for each in encodings.rglob("*") if each.is_file()]
        yield CleanupItem(
            name="encodings",
            description="cached outputs of local models; computed again when needed",
            amount=_megabytes(files),
            only_by_name=True,
            remove=partial(shutil.rmtree, encodings),
        )
    if warehouse.exists():
        for task in vacuum.maintenance_tasks(warehouse, days):
            yield CleanupItem(
                name=task.name, description=task.what, amount=task.amount, remove=task.run
            )


def clean(project: Project, names: Sequence[str], days: float) -> Iterator[CleanupItem]:
    """Remove data, and yield the removed items.

    Args:
        project: The project.
        names: What to remove; empty for all that is not removed only by name.
        days: The least age of the data.
    """
    wanted = set(names)
    for name in NAMES:
        # Looked up again for each name, because a removal may leave free space.
        for item in find_items(project, days):
            if item.name == name and (name in wanted or not (wanted or item.only_by_name)):
                item.remove()
                yield item


def _runs(project: Project, days: float) -> Iterator[CleanupItem]:
    folder = instance.home(project)
    if not (folder / instance.SETTINGS).exists():
        return
    from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

    ended = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
    before = datetime.now(UTC) - timedelta(days=days)
    chosen = RunsFilter(statuses=ended, created_before=before)
    with instance.naming_damage(project), DagsterInstance.from_config(str(folder)) as opened:
        found = opened.get_run_ids(chosen)
        kept = {*opened.get_run_ids()} - {*found}
    files = run_files(folder, kept)
    if not found and not files:
        return

    def remove() -> None:
        # Dagster opens the database of each run, which must not end the removal of others.
        files = [each for each in run_files(folder, kept) if each.suffix == ".db"]
        _unlink([each for each in files if describe_damage(each) is not None])
        with instance.naming_damage(project), DagsterInstance.from_config(str(folder)) as opened:
            for run_id in found:
                opened.delete_run(run_id)
        _unlink(run_files(folder, kept))
        shrink_databases(folder, kept)

    amount = f"{len(found):,} runs, {_megabytes(files)}"
    description = "runs in the history of the interface, with their events"
    yield CleanupItem(name="runs", description=description, amount=amount, remove=remove)


def _megabytes(files: Sequence[Path]) -> str:
    return f"{sum(each.stat().st_size for each in files) / 1e6:,.1f} MB"


def _unlink(files: Sequence[Path]) -> None:
    for each in files:
        each.unlink()
