"""The schema as SQL, as a page to read, and as a check, all from the table descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.tables import SCHEMA_VERSION, TABLES, table_named

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    from warehouse.schema.tables import Table


def literal(value: str | float) -> str:
    """A value as SQL."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def quoted(name: str) -> str:
    """An identifier as SQL."""
    return '"' + name.replace('"', '""') + '"'


def create_statement(table: Table) -> str:
    """The statement that creates one table or view."""
    if table.view_of is not None:
        return f"CREATE VIEW {quoted(table.name)} AS\n{table.view_of}"
    columns = ",\n".join(
        f"    {quoted(column.name)} {column.type}{'' if column.nullable else ' NOT NULL'}"
        for column in table.columns
    )
    return f"CREATE TABLE {quoted(table.name)} (\n{columns}\n)"


def create_statements() -> list[str]:
    """The statements that create every table, then every view."""
    stored = [table for table in TABLES.values() if table.view_of is None]
    views = [table for table in TABLES.values() if table.view_of is not None]
    return [create_statement(table) for table in (*stored, *views)]


def create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Create every table and view, and note the version of the schema."""
    for statement in create_statements():
        connection.execute(statement)
    connection.execute(
        "INSERT INTO meta VALUES ('schema_version', $version)", {"version": str(SCHEMA_VERSION)}
    )


def check(connection: duckdb.DuckDBPyConnection, tables: Iterable[str] | None = None) -> list[str]:
    """How the tables of a database differ from their descriptions.

    Tables that are not described are of no concern.

    Args:
        connection: An open connection to the warehouse.
        tables: The tables to look at, by name; null: all.

    Returns:
        One sentence a difference; empty when everything is as described.
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
