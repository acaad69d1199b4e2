"""Stages new rows for a table, and builds conditions on its rows."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from warehouse.errors import NoSpace, UnknownColumn, WarehouseError, suggest_name
from warehouse.schema.quoting import literal, quoted, scan_literal
from warehouse.schema.tables import Table, table_named
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb
    import polars as pl

Where: TypeAlias = Mapping[str, Any]
Constants: TypeAlias = Mapping[str, str | datetime]
"""Columns with the value that all new rows share."""


@dataclass(frozen=True, slots=True)
class StagedRows:
    """New rows as a table expression, with an SQL expression for each column of the table."""

    relation: str
    expressions: Mapping[str, str]

    def require(self, table: Table, names: Iterable[str]) -> None:
        """Check that the rows have some columns."""
        missing = [name for name in names if name not in self.expressions]
        if missing:
            raise UnknownColumn(f"new rows of {table.name!r} lack {column_list(missing)}")


@contextmanager
def stage_rows(
    connection: duckdb.DuckDBPyConnection,
    table: Table,
    rows: pl.DataFrame | Path,
    constants: Constants,
    folder: Path,
) -> Iterator[StagedRows]:
    """Make new rows readable by DuckDB for the duration of the `with`.

    A frame goes through a Parquet file in a temporary folder inside `folder`: DuckDB would load
    pandas and more to scan a frame, and takes longer from a few ten thousand rows on.

    Raises:
        UnknownColumn: The table does not have one of their columns.
        NoSpace: The disk is full.
    """
    if isinstance(rows, Path):
        files = [rows] if rows.is_file() else sorted(rows.glob("*.parquet"))
        relation = scan_literal("read_parquet", files)
        described = connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()  # noqa: S608
        lists = {name: type_.endswith("[]") for name, type_, *_ in described}
        yield _staged(table, relation, lists, constants)
        return
    lists = {name: str(type_).startswith("List") for name, type_ in rows.schema.items()}
    for name in rows.columns:
        require_column(table, name)
    with scratch_folder(folder) as scratch:
        file = scratch / "rows.parquet"
        _write_parquet(rows, file)
        yield _staged(table, scan_literal("read_parquet", [file]), lists, constants)


def _write_parquet(rows: pl.DataFrame, file: Path) -> None:
    from polars.exceptions import ComputeError

    try:
        rows.write_parquet(file, compression="uncompressed", statistics=False)
    except (ComputeError, OSError) as error:
        if os.strerror(errno.ENOSPC) in str(error):
            raise NoSpace(f"the disk of {str(file.parent.parent)!r} is full") from error
        raise


def _with_constants(relation: str, constants: Constants) -> str:
    more = "".join(
        f", {literal(str(value))}::{'TIMESTAMP' if isinstance(value, datetime) else 'VARCHAR'} "
        f"AS {quoted(name)}"
        for name, value in constants.items()
    )
    return f"(SELECT *{more} FROM {relation})" if more else relation  # noqa: S608


def _staged(
    table: Table, relation: str, lists: Mapping[str, bool], constants: Constants
) -> StagedRows:
    """Return rows with constants; `lists` are their columns, and whether these hold lists."""
    types = {column.name: column.type for column in table.columns}
    expressions = {each.name: each.default for each in table.columns if each.default is not None}
    for name in [*lists, *constants]:
        require_column(table, name)
        entries = types[name].startswith("MAP") and lists[name]
        expressions[name] = f"map_from_entries({quoted(name)})" if entries else quoted(name)
    return StagedRows(_with_constants(relation, constants), expressions)


def where_clause(table: Table, where: Where) -> tuple[str, dict[str, Any]]:
    """Return a condition on the rows of a table, and its parameters.

    A column has the required value (null included), or one of a list, tuple or set of accepted
    values. Without columns, all rows satisfy the condition.

    Raises:
        UnknownColumn: The table does not have one of the columns.
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
    """Return quoted identifiers, separated by commas."""
    return ", ".join(quoted(name) for name in names)


def stored_table(name: str) -> Table:
    """Return the description of a table that stores rows.

    Raises:
        UnknownTable: The table does not exist.
        WarehouseError: It is a view.
    """
    table = table_named(name)
    if table.view_of is not None:
        raise WarehouseError(f"{name!r} is a view: write to the tables that it reads")
    return table


def require_column(table: Table, name: str) -> None:
    """Check that a table has a column."""
    if name not in table.column_names:
        raise UnknownColumn(
            f"table {table.name!r} has no column {name!r}{suggest_name(name, table.column_names)}"
        )
