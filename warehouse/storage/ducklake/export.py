"""A lake as a DuckDB file: all rows of one moment, with tables and views as in any warehouse."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb

from warehouse.schema.ddl import literal, quoted
from warehouse.schema.tables import STORED
from warehouse.storage.connection import Settings
from warehouse.storage.create import create_file, fsync

if TYPE_CHECKING:
    from pathlib import Path


def export_lake(connection: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Write the tables that a connection sees to a DuckDB file, in place of what is there.

    Args:
        connection: A connection in a transaction, so that all tables are of one moment.
        target: The file.

    Raises:
        OSError: Its disk is full.
    """
    target.unlink(missing_ok=True)
    create_file(target, Settings())
    # Attached for all cursors of the process, so that its name must be nobody else's.
    name = quoted(f"copy-{uuid4().hex}")
    connection.execute(f"ATTACH {literal(str(target))} AS {name}")
    try:
        for table in STORED:
            connection.execute(f"DELETE FROM {name}.{quoted(table)}")  # noqa: S608
            connection.execute(
                f"INSERT INTO {name}.{quoted(table)} BY NAME SELECT * FROM {quoted(table)}"  # noqa: S608
            )
        connection.commit()
        connection.execute(f"CHECKPOINT {name}")
    except BaseException as error:
        with suppress(duckdb.Error):
            connection.rollback()
        if os.strerror(errno.ENOSPC) in str(error):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
        raise
    finally:
        # A file that could not be written is let go of by DuckDB itself.
        with suppress(duckdb.Error):
            connection.execute(f"DETACH {name}")
        target.with_name(target.name + ".wal").unlink(missing_ok=True)
    connection.begin()
    fsync(target)
