"""The files of past runs in the folder of a Dagster instance, and the space in its databases.

Dagster deletes the events of a run, but neither the database in which they were nor the pages that
they took in the database of all runs.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Final

from calls.file_system import special_file

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

RUNS = "history/runs.db"
EVENTS = "history/runs/index.db"
SCHEDULES = "schedules/schedules.db"
"""The databases, in the folder of an instance, as Dagster names them."""

_HEADER: Final = b"SQLite format 3\0"

OUTDATED_CHECKS = """
DELETE FROM asset_check_executions
WHERE run_id NOT IN (SELECT value FROM json_each(?))
    AND id NOT IN (SELECT max(id) FROM asset_check_executions GROUP BY asset_key, check_name)
"""
"""Removes the results of checks that Dagster keeps when it deletes their run."""

BUSY_S = 5.0
"""How long to wait for a process that uses a database."""


def describe_damage(file: Path) -> str | None:
    """Return what an existing database is instead of a file that SQLite wrote; null if it is one.

    Only its first bytes are read; opening a FIFO would wait.
    """
    special = special_file(file)
    if special is not None:
        return f"{str(file)!r} is {special}, expected a file"
    with file.open("rb") as opened:
        header = opened.read(len(_HEADER))
    if not header:
        # SQLite takes it for a database without tables.
        return f"{str(file)!r} is empty"
    return None if header == _HEADER else f"{str(file)!r} is not a database"


def run_files(folder: Path, kept: Collection[str]) -> list[Path]:
    """Return the databases of single runs, with their logs, except those of the runs to keep.

    Args:
        folder: The folder of the instance.
        kept: The ids of the runs that stay.
    """
    index = folder / EVENTS
    return [
        path
        for path in sorted(index.parent.glob("*.db*"))
        if (name := path.name.partition(".")[0]) != index.stem and name not in kept
    ]


def shrink_databases(folder: Path, kept: Collection[str]) -> None:
    """Return the free pages of the databases to the disk.

    A database that another process uses, such as `scoreline dev`, keeps them until the next time.

    Args:
        folder: The folder of the instance.
        kept: The ids of the runs whose results of checks stay, as does the last one of each check.
    """
    for name in (RUNS, EVENTS, SCHEDULES):
        # Locked, or on a full disk, where there is no place for the copy.
        with suppress(sqlite3.OperationalError), closing(_connect(folder / name)) as connection:
            if name == EVENTS:
                connection.execute(OUTDATED_CHECKS, [json.dumps(sorted(kept))])
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _connect(file: Path) -> sqlite3.Connection:
    address = f"{file.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None)
