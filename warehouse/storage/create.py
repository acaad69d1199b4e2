"""Creates a DuckDB file with all tables of a warehouse."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from warehouse.schema.ddl import create_tables
from warehouse.storage.connection import connect_file

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.storage.connection import Settings


def create_file(path: Path, settings: Settings) -> None:
    """Make a DuckDB file with every table, none of which has a row but the version's."""
    with connect_file(path, read_only=False, settings=settings) as connection:
        connection.begin()
        create_tables(connection)
        connection.commit()
        # On a full disk closing leaves the tables in the log, silently, and the log stays behind.
        connection.execute("CHECKPOINT")


def fsync(path: Path) -> None:
    """Have a file or folder written to the disk before this returns."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
