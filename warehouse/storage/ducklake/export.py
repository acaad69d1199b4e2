"""Exports a lake to a DuckDB file."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb

from warehouse.schema.quoting import literal, quoted
from warehouse.schema.tables import STORED
from warehouse.storage.atomic import fsync
from warehouse.storage.connect import log_settings
from warehouse.storage.connection import Settings, create_file

if TYPE_CHECKING:
    from pathlib import Path


def export_lake(connection: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Write the tables of a lake to a DuckDB file and replace an existing one.

    The connection is in a transaction, so that all tables are of one snapshot.

    Raises:
        OSError: The disk is full.
    """
    target.unlink(missing_ok=True)
    create_file(target, Settings())
    # All cursors of the process share attached files, so the name must be unique.
    name = quoted(f"copy-{uuid4().hex}")
    for setting, value in log_settings(target).items():
        connection.execute(f"SET GLOBAL {setting} = {literal(str(value))}")
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
        # DuckDB detaches a file itself if it cannot write it.
        with suppress(duckdb.Error):
            connection.execute(f"DETACH {name}")
        target.with_name(target.name + ".wal").unlink(missing_ok=True)
    connection.begin()
    fsync(target)
