"""What a project may be rid of: how much of it there is, and how it is removed when asked."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from orchestration import instance
from warehouse.ledger.journal import folder_of
from warehouse.maintenance import retention, vacuum
from warehouse.storage.migrate import backups_of
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from assets.project import Project

DAYS = 90.0
"""How old something must be before it counts as left over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something that may be cleaned away.

    Attributes:
        name: What the command calls it.
        what: What it is.
        amount: How much of it there is, in words.
        only_when_asked: Whether it goes only when its name is given: it was paid for, takes long
            to make again, or is the last resort.
        remove: Removes it.
    """

    name: str
    what: str
    amount: str
    only_when_asked: bool = False
    remove: Callable[[], object]


NAMES = (*retention.LEFTOVERS, "runs", "backups", "encodings", *vacuum.NAMES)
"""The names of all items, in the order in which they are removed: room comes last."""


def items(project: Project, days: float = DAYS) -> Iterator[Item]:
    """What there is to clean away now; nothing is changed by looking.

    Args:
        project: The project.
        days: How old something must be.
    """
    if Warehouse(project.warehouse).exists():
        warehouse = Warehouse(project.warehouse)
        for name, leftover in retention.LEFTOVERS.items():
            rows = retention.count(warehouse, leftover, days)
            if rows:
                yield Item(
                    name=name,
                    what=leftover.what,
                    amount=f"{rows:,} rows",
                    only_when_asked=leftover.paid,
                    remove=partial(retention.drop, warehouse, leftover, days),
                )
    yield from _runs(project, days)
    backups = backups_of(project.warehouse)
    if backups:
        yield Item(
            name="backups",
            what="copies of the warehouse from before it was brought up to date",
            amount=f"{len(backups)} files, {_megabytes(backups)}",
            only_when_asked=True,
            remove=partial(_unlink, backups),
        )
    encodings = project.warehouse.parent / "encodings"
    if encodings.is_dir():
        held = [each for each in encodings.rglob("*") if each.is_file()]
        yield Item(
            name="encodings",
            what="what local models said; they would have to be asked again",
            amount=_megabytes(held),
            only_when_asked=True,
            remove=partial(shutil.rmtree, encodings),
        )
    if Warehouse(project.warehouse).exists():
        for chore in vacuum.chores(Warehouse(project.warehouse), days):
            yield Item(
                name=chore.name, what=chore.what, amount=chore.amount, remove=chore.carry_out
            )


def journals(project: Project) -> int:
    """The journals of runs that were killed, which the next run takes over."""
    folder = folder_of(project.warehouse)
    return len(list(folder.glob("*.jsonl"))) if folder.is_dir() else 0


def clean(project: Project, names: Sequence[str], days: float) -> Iterator[Item]:
    """Remove what may go, and say what was removed.

    Args:
        project: The project.
        names: What to remove; empty: all that needs not be asked for by name.
        days: How old something must be.
    """
    wanted = set(names)
    for name in NAMES:
        # Each is looked at when its turn comes: what goes before may leave space behind.
        for item in items(project, days):
            if item.name == name and (name in wanted or not (wanted or item.only_when_asked)):
                item.remove()
                yield item


def _runs(project: Project, days: float) -> Iterator[Item]:
    if not (instance.home(project) / "dagster.yaml").exists():
        return
    from dagster import DagsterInstance, DagsterRunStatus, RunsFilter

    ended = [DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE, DagsterRunStatus.CANCELED]
    before = datetime.now(UTC) - timedelta(days=days)
    chosen = RunsFilter(statuses=ended, created_before=before)
    with DagsterInstance.from_config(str(instance.home(project))) as opened:
        found = [run.run_id for run in opened.get_runs(chosen)]
    if not found:
        return

    def remove() -> None:
        with DagsterInstance.from_config(str(instance.home(project))) as opened:
            for run_id in found:
                opened.delete_run(run_id)

    what = "runs in the history of the interface"
    yield Item(name="runs", what=what, amount=f"{len(found):,} runs", remove=remove)


def _megabytes(files: Sequence[Path]) -> str:
    return f"{sum(each.stat().st_size for each in files) / 1e6:,.1f} MB"


def _unlink(files: Sequence[Path]) -> None:
    for each in files:
        each.unlink()
