"""Changes to the warehouse that take effect together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from warehouse.ddl import quoted
from warehouse.errors import DuplicateKey, UnknownColumn, WarehouseError, near
from warehouse.tables import Table, table_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import duckdb

    Rows: TypeAlias = pl.DataFrame | Path | Iterable[pl.DataFrame]

Where: TypeAlias = Mapping[str, Any]
Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]


def fetched(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None = None
) -> pl.DataFrame:
    """The result of a query as a frame; JSON comes as text, a MAP as a Polars map."""
    return connection.execute(sql, parameters).pl()


class Transaction:
    """An open transaction; `Warehouse.transaction` makes it, commits it or rolls it back.

    Rows come as a Polars frame, as the path of a Parquet file, or as an iterable of frames.
    They are matched to the table by the names of their columns; a column that they lack
    is null. JSON columns take text.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """The result of a query, which sees the changes made so far."""
        return fetched(self._connection, sql, parameters)

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run a statement that changes rows.

        Returns:
            The number of rows that it changed; -1 for statements that change none.
        """
        row = self._connection.execute(sql, parameters).fetchone()
        return int(row[0]) if row is not None and isinstance(row[0], int) else -1

    def delete(self, table: str, where: Where) -> int:
        """Delete rows.

        Args:
            table: The table.
            where: Column names with the value that a row must have, null included, or a list,
                tuple or set of values, one of which it must have. Empty: all rows.

        Returns:
            The number of rows deleted.

        Raises:
            UnknownTable, UnknownColumn: There is no such table or column.
        """
        condition, parameters = _condition(table_named(table), where)
        return self.execute(f"DELETE FROM {quoted(table)} WHERE {condition}", parameters)  # noqa: S608

    def append(self, table: str, rows: Rows) -> int:
        """Insert rows; keys are not checked, see `require_unique`.

        Returns:
            The number of rows inserted.

        Raises:
            UnknownTable, UnknownColumn: There is no such table or column.
        """
        description = _stored(table)
        if not isinstance(rows, pl.DataFrame | Path):
            return sum(self.append(table, batch) for batch in rows)
        with self._incoming(description, rows) as source:
            return self._insert(description, source)

    def replace(self, table: str, rows: Rows, where: Where | None = None) -> int:
        """Delete what the new rows replace, then insert them.

        Args:
            table: The table.
            rows: The new rows.
            where: What to delete, as in `delete`; every new row must satisfy it, so that a
                second run finds what the first wrote. Null: the rows with the key of a new row.

        Returns:
            The number of rows inserted.

        Raises:
            UnknownTable, UnknownColumn: There is no such table or column.
            DuplicateKey: Two rows of a frame or file have the same key (when `where` is null).
            WarehouseError: A new row does not satisfy `where`.
        """
        description = _stored(table)
        if where is not None:
            self.delete(table, where)
        if not isinstance(rows, pl.DataFrame | Path):
            return sum(self._replacement(description, batch, where) for batch in rows)
        return self._replacement(description, rows, where)

    def mark(self, benchmark: str, stage: str, digest: str) -> None:
        """Note the digest of everything that a stage of a benchmark was made from."""
        now = datetime.now(UTC).replace(tzinfo=None)
        mark = {"benchmark": benchmark, "stage": stage, "digest": digest, "marked_at": now}
        self.replace("marks", pl.DataFrame([mark]))

    def require_unique(self, table: str, where: Where | None = None) -> None:
        """Check that no two rows have the same key.

        Args:
            table: The table or view.
            where: The rows to check, as in `delete`; null: all.

        Raises:
            DuplicateKey: Two rows have; one key is named.
        """
        description = table_named(table)
        condition, parameters = _condition(description, where or {})
        self._require_single(
            description,
            f"SELECT {_listed(description.key)}, count(*) AS n FROM {quoted(table)} "  # noqa: S608
            f"WHERE {condition} GROUP BY ALL",
            parameters,
        )

    def _replacement(self, table: Table, rows: pl.DataFrame | Path, where: Where | None) -> int:
        with self._incoming(table, rows) as source:
            if where is None:
                self._delete_keys(table, source)
            else:
                self._require_within(table, source, where)
            return self._insert(table, source)

    @contextmanager
    def _incoming(self, table: Table, rows: pl.DataFrame | Path) -> Iterator[_Source]:
        if isinstance(rows, Path):
            path = str(rows).replace("'", "''")
            yield self._described(table, f"read_parquet('{path}')")
            return
        # Polars' null type has no counterpart; a missing column is null, too.
        frame = rows.drop(name for name, dtype in rows.schema.items() if dtype == pl.Null)
        for name in set(rows.columns) - set(frame.columns):
            _require_column(table, name)
        self._connection.register("incoming", frame.to_arrow())
        try:
            yield self._described(table, "incoming")
        finally:
            self._connection.unregister("incoming")

    def _described(self, table: Table, relation: str) -> _Source:
        rows = self._connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()  # noqa: S608
        types = {column.name: column.type for column in table.columns}
        expressions = {}
        for name, type_, *_ in rows:
            _require_column(table, name)
            entries = types[name].startswith("MAP") and type_.endswith("[]")
            column = quoted(name)
            expressions[name] = f"map_from_entries({column})" if entries else column
        return _Source(relation, expressions)

    def _insert(self, table: Table, source: _Source) -> int:
        if not source.expressions:
            return 0
        columns = ", ".join(
            f"{what} AS {quoted(name)}" for name, what in source.expressions.items()
        )
        return self.execute(
            f"INSERT INTO {quoted(table.name)} BY NAME SELECT {columns} FROM {source.relation}"  # noqa: S608
        )

    def _delete_keys(self, table: Table, source: _Source) -> None:
        missing = [name for name in table.key if name not in source.expressions]
        if missing:
            raise UnknownColumn(
                f"new rows of {table.name!r} lack {_listed(missing)}, a part of the key"
            )
        self.execute(
            "CREATE OR REPLACE TEMP TABLE incoming_keys AS "  # noqa: S608
            f"SELECT {_listed(table.key)}, count(*) AS n FROM {source.relation} GROUP BY ALL"
        )
        self._require_single(table, "SELECT * FROM incoming_keys")
        same = " AND ".join(
            f"k.{quoted(name)} IS NOT DISTINCT FROM {quoted(table.name)}.{quoted(name)}"
            for name in table.key
        )
        self.execute(
            f"DELETE FROM {quoted(table.name)} "  # noqa: S608
            f"WHERE EXISTS (SELECT 1 FROM incoming_keys AS k WHERE {same})"
        )
        self.execute("DROP TABLE incoming_keys")

    def _require_single(
        self, table: Table, counted: str, parameters: Parameters | None = None
    ) -> None:
        rows = self.fetch(f"SELECT * FROM ({counted}) WHERE n > 1 LIMIT 1", parameters).rows()  # noqa: S608
        for *values, n in rows:
            named = ", ".join(
                f"{name}={value!r}" for name, value in zip(table.key, values, strict=True)
            )
            raise DuplicateKey(f"{n} rows of {table.name!r} have the key {named}, expected one")

    def _require_within(self, table: Table, source: _Source, where: Where) -> None:
        condition, parameters = _condition(table, where)
        unset = [name for name in where if name not in source.expressions]
        if unset and where:
            raise UnknownColumn(f"new rows of {table.name!r} lack {_listed(unset)}")
        rows = self.fetch(
            f"SELECT count(*) FROM {source.relation} WHERE NOT ({condition})",  # noqa: S608
            parameters,
        )
        if strays := rows.item():
            raise WarehouseError(
                f"{strays} new rows of {table.name!r} lie outside of what they replace: "
                + ", ".join(f"{name}={value!r}" for name, value in where.items())
            )


class _Source:
    """New rows as DuckDB sees them: a relation, and an expression for each of its columns."""

    def __init__(self, relation: str, expressions: dict[str, str]) -> None:
        self.relation = relation
        self.expressions = expressions


def _listed(names: Iterable[str]) -> str:
    return ", ".join(quoted(name) for name in names)


def _stored(name: str) -> Table:
    table = table_named(name)
    if table.view_of is not None:
        raise WarehouseError(f"{name!r} is a view, rows go into the tables that it shows")
    return table


def _require_column(table: Table, name: str) -> None:
    if name not in table.column_names:
        raise UnknownColumn(
            f"table {table.name!r} has no column {name!r}{near(name, table.column_names)}"
        )


def _condition(table: Table, where: Where) -> tuple[str, dict[str, Any]]:
    terms = ["true"]
    parameters: dict[str, Any] = {}
    for name, value in where.items():
        _require_column(table, name)
        if isinstance(value, list | tuple | set | frozenset):
            terms.append(f"{quoted(name)} IN (SELECT unnest(${name}))")
            parameters[name] = list(value)
        else:
            terms.append(f"{quoted(name)} IS NOT DISTINCT FROM ${name}")
            parameters[name] = value
    return " AND ".join(terms), parameters
