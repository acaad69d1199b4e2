"""Derives SQL from the table descriptions and checks a database against them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.quoting import literal, quoted
from warehouse.schema.tables import SCHEMA_VERSION, TABLES, table_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    from warehouse.schema.tables import Table


def create_statement(table: Table) -> str:
    """Return the statement that creates a table or view."""
    if table.view_of is not None:
        return f"CREATE VIEW {quoted(table.name)} AS\n{table.view_of}"
    columns = ",\n".join(
        f"    {quoted(column.name)} {column.type}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns
    )
    return f"CREATE TABLE {quoted(table.name)} (\n{columns}\n)"


def create_statements() -> list[str]:
    """Return the statements that create all tables, then all views."""
    stored = [table for table in TABLES.values() if table.view_of is None]
    views = [table for table in TABLES.values() if table.view_of is not None]
    return [create_statement(table) for table in (*stored, *views)]


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create all tables and views and record the schema version."""
    for statement in create_statements():
        connection.execute(statement)
    # A literal, because DuckDB loads pandas for parameters.
    version = literal(str(SCHEMA_VERSION))
    connection.execute(f"INSERT INTO meta VALUES ('schema_version', {version})")  # noqa: S608


def check(connection: duckdb.DuckDBPyConnection, tables: Iterable[str] | None = None) -> list[str]:
    """Compare tables (null: all) with their descriptions; return one sentence per difference.

    Additional tables in the database are ignored.
    """
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    rows = connection.execute(
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
        "WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal "
        "ORDER BY table_name, column_index"
    ).fetchall()
    for table, column, type_, nullable in rows:
        found.setdefault(table, {})[column] = (type_, nullable)
    return [
        difference
        for table in (TABLES.values() if tables is None else map(table_named, tables))
        for difference in _differences(table, found.get(table.name))
    ]


def _differences(table: Table, found: dict[str, tuple[str, bool]] | None) -> list[str]:
    if found is None:
        return [f"table {table.name!r} is missing"]
    differences = []
    for column in table.columns:
        place = f"column {column.name!r} of table {table.name!r}"
        if column.name not in found:
            differences.append(f"{place} is missing")
            continue
        type_, nullable = found[column.name]
        if type_ != column.type:
            differences.append(f"{place} is {type_}, expected {column.type}")
        if table.view_of is None and nullable != column.nullable:
            differences.append(f"{place} is {'' if nullable else 'not '}nullable")
    differences.extend(
        f"column {name!r} of table {table.name!r} is not described"
        for name in found
        if name not in table.column_names
    )
    return differences
