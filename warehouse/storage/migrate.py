"""Brings a warehouse that an earlier version wrote up to date, with a copy of it left beside."""

from __future__ import annotations

import glob
import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from warehouse.errors import NoSpace, SchemaMismatch, SchemaOutdated, WarehouseTooNew
from warehouse.schema import migrations
from warehouse.schema.ddl import check, create_statement, quoted
from warehouse.schema.tables import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from warehouse.storage.location import Location


def schema_version(connection: duckdb.DuckDBPyConnection, path: Location) -> int:
    """The schema version that a database bears.

    Raises:
        SchemaMismatch: It is no warehouse.
    """
    try:
        row = connection.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise SchemaMismatch(
            f"{str(path)!r} is a database, but not a warehouse of Scoreline's"
        ) from error
    if row is None:
        raise SchemaMismatch(f"the warehouse {str(path)!r} does not say which version wrote it")
    return int(row[0])


def require_version(connection: duckdb.DuckDBPyConnection, path: Location) -> None:
    """Check that a database is a warehouse of this version.

    Raises:
        WarehouseTooNew: A later version wrote it.
        SchemaOutdated: An earlier version wrote it, and it can be brought up to date.
        SchemaMismatch: Something else wrote it.
    """
    version = schema_version(connection, path)
    whose = f"the warehouse {str(path)!r} has schema version {version}"
    if version > SCHEMA_VERSION:
        raise WarehouseTooNew(
            f"{whose}, and this program knows "
            f"versions up to {SCHEMA_VERSION}: use a later version of Scoreline"
        )
    if version < migrations.FIRST:
        raise SchemaMismatch(f"{whose}, expected {SCHEMA_VERSION}: move it away and run again")
    if version < SCHEMA_VERSION:
        raise SchemaOutdated(
            f"{whose}, expected {SCHEMA_VERSION}: the next `scoreline run` brings it up to date"
        )


def backup_path(path: Path, version: int) -> Path:
    """Where the copy stands that is made before a warehouse of some version is changed."""
    return path.with_name(f"{path.stem}.version-{version}{path.suffix}")


def list_backups(place: Location) -> list[Path]:
    """The copies that were made before a warehouse was brought up to date; a lake keeps none."""
    if not isinstance(place, Path):
        return []
    return sorted(place.parent.glob(f"{glob.escape(place.stem)}.version-*"))


def migrate(connection: duckdb.DuckDBPyConnection, path: Location) -> None:
    """Carry out the steps that are missing, all or none.

    Args:
        connection: Open for writing, alone, and in no transaction.
        path: The file or lake that it has open.

    Raises:
        SchemaMismatch: The tables are not as described after the last step; nothing has been
            changed.
    """
    version = schema_version(connection, path)
    connection.begin()
    try:
        try:
            _carry_out(connection, version)
        except duckdb.Error as error:
            raise SchemaMismatch(_stuck(path, version, str(error))) from error
        _require_described(connection, path, version)
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise
    connection.commit()


def _require_described(connection: duckdb.DuckDBPyConnection, path: Location, version: int) -> None:
    faults = check(connection)
    if faults:
        raise SchemaMismatch(_stuck(path, version, "; ".join(faults)))


def _stuck(path: Location, version: int, why: str) -> str:
    return (
        f"the warehouse {str(path)!r} cannot be brought from version {version} to "
        f"{SCHEMA_VERSION}: {why}"
    )


def _carry_out(connection: duckdb.DuckDBPyConnection, version: int) -> None:
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
    """Copy the file that is open, before it is changed.

    Raises:
        NoSpace: There is no room for the copy.
    """
    target = backup_path(path, schema_version(connection, path))
    # What a killed process left in the log is brought into the file before it is copied.
    connection.execute("CHECKPOINT")
    free, needed = shutil.disk_usage(path.parent).free, path.stat().st_size
    if free < needed:
        raise NoSpace(
            f"the warehouse {str(path)!r} is to be brought up to date, and the copy that is made "
            f"first needs {needed / 1e6:.1f} MB, of which {free / 1e6:.1f} MB are free"
        )
    beside = target.with_name(target.name + ".tmp")
    try:
        shutil.copyfile(path, beside)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
