"""Migrates a warehouse that an earlier version wrote, after a backup."""

from __future__ import annotations

import glob
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.errors import NoSpace, SchemaMismatch, SchemaOutdated, WarehouseTooNew
from warehouse.schema import migrations
from warehouse.schema.quoting import quoted
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from warehouse.storage.location import Location

SCHEMA_VERSION = migrations.latest()

MISSING_COLUMN = "not found in FROM clause"
"""DuckDB's message for a query that names a column which the table does not have."""


def schema_version(connection: duckdb.DuckDBPyConnection, path: Location) -> int:
    """Return the schema version of a database.

    Raises:
        SchemaMismatch: It is not a warehouse.
    """
    try:
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        if isinstance(error, duckdb.BinderException) and MISSING_COLUMN not in str(error):
            # DuckDB binds a query to a lake with queries to the server, which may be lost.
            raise
        raise SchemaMismatch(
            f"{str(path)!r} is a database, but not a Scoreline warehouse"
        ) from error
    if row is None:
        raise SchemaMismatch(f"the warehouse {str(path)!r} has no schema version")
    return int(row[0])


def require_version(connection: duckdb.DuckDBPyConnection, path: Location) -> None:
    """Check that a database is a warehouse of this version.

    Raises:
        WarehouseTooNew: A later version wrote it.
        SchemaOutdated: An earlier version wrote it, and it can be migrated.
        SchemaMismatch: It cannot be migrated.
    """
    version = schema_version(connection, path)
    prefix = f"the warehouse {str(path)!r} has schema version {version}"
    if version > SCHEMA_VERSION:
        raise WarehouseTooNew(
            f"{prefix}, and this program knows "
            f"versions up to {SCHEMA_VERSION}: use a later version of Scoreline"
        )
    if version < migrations.FIRST:
        raise SchemaMismatch(f"{prefix}, expected {SCHEMA_VERSION}: move it away and run again")
    if version < SCHEMA_VERSION:
        raise SchemaOutdated(
            f"{prefix}, expected {SCHEMA_VERSION}: the next `scoreline run` migrates it"
        )


def backup_path(path: Path, version: int) -> Path:
    """Return the path of the backup of a warehouse of some version."""
    return path.with_name(f"{path.stem}.version-{version}{path.suffix}")


def list_backups(location: Location) -> list[Path]:
    """List the backups that were made before migrations; a lake has none."""
    if not isinstance(location, Path):
        return []
    return sorted(location.parent.glob(f"{glob.escape(location.stem)}.version-*"))


def migrate(connection: duckdb.DuckDBPyConnection, path: Location) -> None:
    """Apply the missing migrations in one transaction.

    The connection is the only one, open for writing and not in a transaction.

    Raises:
        SchemaMismatch: The migrated tables do not match their descriptions; nothing is changed.
    """
    version = schema_version(connection, path)
    connection.begin()
    try:
        try:
            _apply(connection, version)
        except duckdb.Error as error:
            raise SchemaMismatch(_failure(path, version, str(error))) from error
        _check_tables(connection, path, version)
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise
    connection.commit()


def _check_tables(connection: duckdb.DuckDBPyConnection, path: Location, version: int) -> None:
    from warehouse.schema.ddl import check  # the records, and pydantic

    differences = check(connection)
    if differences:
        raise SchemaMismatch(_failure(path, version, "; ".join(differences)))


def _failure(path: Location, version: int, reason: str) -> str:
    return (
        f"the warehouse {str(path)!r} cannot be migrated from version {version} to "
        f"{SCHEMA_VERSION}: {reason}"
    )


def _apply(connection: duckdb.DuckDBPyConnection, version: int) -> None:
    from warehouse.schema.ddl import create_statement
    from warehouse.schema.tables import TABLES

    views = connection.execute(
        "SELECT view_name FROM duckdb_views() "
        "WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal"
    ).fetchall()
    for (name,) in views:
        connection.execute(f"DROP VIEW {quoted(name)}")
    for number, sql in migrations.steps().items():
        if number > version:
            connection.execute(sql)
    for table in TABLES.values():
        if table.view_of is not None:
            connection.execute(create_statement(table))
    connection.execute(
        "UPDATE meta SET value = $version WHERE name = 'schema_version'",
        {"version": str(SCHEMA_VERSION)},
    )


def create_backup(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Copy a file before its migration.

    Raises:
        NoSpace: The disk has too little space for the copy.
    """
    target = backup_path(path, schema_version(connection, path))
    # Apply the write-ahead log of a killed process before the copy.
    connection.execute("CHECKPOINT")
    free, needed = shutil.disk_usage(path.parent).free, path.stat().st_size
    if free < needed:
        raise NoSpace(
            f"the migration of the warehouse {str(path)!r} starts with a backup, which needs "
            f"{needed / 1e6:.1f} MB; {free / 1e6:.1f} MB are free"
        )
    with replace_file(target) as copy:
        shutil.copyfile(path, copy)
