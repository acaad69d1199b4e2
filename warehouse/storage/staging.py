"""New rows on their way into a table, and conditions on the rows that are there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from warehouse.errors import UnknownColumn, WarehouseError, suggest_name
from warehouse.schema.ddl import literal, path_literal, quoted
from warehouse.schema.tables import Table, table_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

Where: TypeAlias = Mapping[str, Any]
Constants: TypeAlias = Mapping[str, str | datetime]
"""Values that all new rows share."""


@dataclass(frozen=True, slots=True)
class StagedRows:
    """New rows as DuckDB sees them.

    Attributes:
        relation: What stands behind FROM.
        expressions: By column of the table, the expression that gives its values.
    """

    relation: str
    expressions: Mapping[str, str]

    def require(self, table: Table, names: Iterable[str]) -> None:
        """Check that the rows have columns which cannot be left out here."""
        missing = [name for name in names if name not in self.expressions]
        if missing:
            raise UnknownColumn(f"new rows of {table.name!r} lack {column_list(missing)}")


@contextmanager
def stage_rows(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    rows: pl.DataFrame | Path,
    constants: Constants,
) -> Iterator[StagedRows]:
    """Make new rows known to DuckDB for as long as the `with` lasts.

    Raises:
        UnknownColumn: The table lacks one of their columns.
    """
    if isinstance(rows, Path):
        files = path_literal(rows) if rows.is_file() else f"{path_literal(rows)} || '/*.parquet'"
        yield _described(connection, table, _extended(f"read_parquet({files})", constants))
        return
    for name in rows.columns:
        require_column(table, name)
    # Polars' null type has no counterpart; a column that is left out is null, too.
    frame = rows.drop(name for name, dtype in rows.schema.items() if dtype == pl.Null)
    connection.register("incoming", frame.to_arrow())
    try:
        yield _described(connection, table, _extended("incoming", constants))
    finally:
        connection.unregister("incoming")


def _extended(relation: str, constants: Constants) -> str:
    more = "".join(
        f", {literal(str(value))}::{'TIMESTAMP' if isinstance(value, datetime) else 'VARCHAR'} "
        f"AS {quoted(name)}"
        for name, value in constants.items()
    )
    return f"(SELECT *{more} FROM {relation})" if more else relation  # noqa: S608


def _described(connection: duckdb.DuckDBPyConnection, table: Table, relation: str) -> StagedRows:
    types = {column.name: column.type for column in table.columns}
    expressions = {}
    for name, type_, *_ in connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall():  # noqa: S608
        require_column(table, name)
        entries = types[name].startswith("MAP") and type_.endswith("[]")
        expressions[name] = f"map_from_entries({quoted(name)})" if entries else quoted(name)
    return StagedRows(relation, expressions)


def where_clause(table: Table, where: Where) -> tuple[str, dict[str, Any]]:
    """A condition on the rows of a table, and its parameters.

    Args:
        table: The table.
        where: Column names with the value that a row must have, null included, or a list,
            tuple or set of values, one of which it must have. Empty: all rows.

    Raises:
        UnknownColumn: The table lacks one of the columns.
    """
    terms = ["true"]
    parameters: dict[str, Any] = {}
    for name, value in where.items():
        require_column(table, name)
        if isinstance(value, list | tuple | set | frozenset):
            terms.append(f"{quoted(name)} IN (SELECT unnest(${name}))")
            parameters[name] = list(value)
        else:
            terms.append(f"{quoted(name)} IS NOT DISTINCT FROM ${name}")
            parameters[name] = value
    return " AND ".join(terms), parameters


def column_list(names: Iterable[str]) -> str:
    """Identifiers as SQL, separated by commas."""
    return ", ".join(quoted(name) for name in names)


def stored_table(name: str) -> Table:
    """The description of a table that stores rows.

    Raises:
        UnknownTable: There is no such table.
        WarehouseError: It is a view.
    """
    table = table_named(name)
    if table.view_of is not None:
        raise WarehouseError(f"{name!r} is a view, rows go into the tables that it shows")
    return table


def require_column(table: Table, name: str) -> None:
    """Check that a table has a column."""
    if name not in table.column_names:
        raise UnknownColumn(
            f"table {table.name!r} has no column {name!r}{suggest_name(name, table.column_names)}"
        )
