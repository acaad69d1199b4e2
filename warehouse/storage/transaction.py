"""Changes to the warehouse that take effect together or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import polars as pl

from warehouse.errors import DuplicateKey, WarehouseError
from warehouse.schema.ddl import quoted
from warehouse.schema.tables import Table, table_named
from warehouse.storage.staging import (
    Constants,
    StagedRows,
    Where,
    column_list,
    stage_rows,
    stored_table,
    where_clause,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

    Rows: TypeAlias = pl.DataFrame | Path | Iterable[pl.DataFrame]

Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]

NO_CONSTANTS: Final[Constants] = MappingProxyType({})


def fetch_frame(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None = None
) -> pl.DataFrame:
    """The result of a query as a frame; JSON comes as text, a MAP as a Polars map."""
    return connection.execute(sql, parameters).pl()


class Transaction:
    """An open transaction; `Warehouse.transaction` makes it, commits it or rolls it back.

    Rows come as a Polars frame, as the path of a Parquet file or of a folder of them, or as an
    iterable of frames.
    They are matched to the table by the names of their columns; a column that they lack
    is null. JSON columns take text.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """The result of a query, which sees the changes made so far."""
        return fetch_frame(self._connection, sql, parameters)

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run a statement that changes rows.

        Returns:
            The number of rows that it changed; -1 for statements that change none.
        """
        row = self._connection.execute(sql, parameters).fetchone()
        return int(row[0]) if row is not None and isinstance(row[0], int) else -1

    def disable_text_compression(self, *, unless_repeated: bool = False) -> None:
        """Store what this transaction writes without compressing its text.

        For a million predictions with ten documents each that halves the time of writing and
        takes three times the room (measured: 3.1 s for 5.6 s, 216 MB for 77 MB).

        Args:
            unless_repeated: Whether text that repeats is compressed after all. So a million grades
                are written in seven eighths of the time, and take 44 MB for 36 MB.
        """
        methods = "fsst" if unless_repeated else "fsst,dictionary"
        self._connection.execute(f"SET disabled_compression_methods = '{methods}'")

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
        chosen, parameters = where_clause(table_named(table), where)
        return self.execute(f"DELETE FROM {quoted(table)} WHERE {chosen}", parameters)  # noqa: S608

    def append(self, table: str, rows: Rows, constants: Constants = NO_CONSTANTS) -> int:
        """Insert rows; keys are not checked, see `require_unique`.

        Args:
            table: The table.
            rows: The new rows.
            constants: Columns that the rows lack, each with the value that all of them have.

        Returns:
            The number of rows inserted.

        Raises:
            UnknownTable, UnknownColumn: There is no such table or column.
        """
        description = stored_table(table)
        if not isinstance(rows, pl.DataFrame | Path):
            return sum(self.append(table, batch, constants) for batch in rows)
        if _is_void(rows):
            return 0
        with stage_rows(self._connection, description, rows, constants) as source:
            return self._insert(description, source)

    def replace(
        self,
        table: str,
        rows: Rows,
        where: Where | None = None,
        constants: Constants = NO_CONSTANTS,
    ) -> int:
        """Delete what the new rows replace, then insert them.

        Args:
            table: The table.
            rows: The new rows.
            where: What to delete, as in `delete`; every new row must satisfy it, so that a
                second run finds what the first wrote. Null: the rows with the key of a new row.
            constants: As for `append`.

        Returns:
            The number of rows inserted.

        Raises:
            UnknownTable, UnknownColumn: There is no such table or column.
            DuplicateKey: Two rows of a frame or file have the same key (when `where` is null).
            WarehouseError: A new row does not satisfy `where`.
        """
        description = stored_table(table)
        if where is not None:
            self.delete(table, where)
        if not isinstance(rows, pl.DataFrame | Path):
            return sum(self._replacement(description, batch, where, constants) for batch in rows)
        return self._replacement(description, rows, where, constants)

    def record_fingerprint(self, benchmark: str, stage: str, digest: str) -> None:
        """Note the digest of everything that a stage of a benchmark was made from."""
        now = datetime.now(UTC).replace(tzinfo=None)
        mark = {"benchmark": benchmark, "stage": stage, "digest": digest, "marked_at": now}
        self.replace("marks", pl.DataFrame([mark]))

    def next_timestamp(self, table: str, column: str, where: Where) -> datetime:
        """The time now (UTC), or just after the latest one in a column if the clock was set back.

        So what is written last is also the latest, whatever the clock says.

        Args:
            table: The table.
            column: Its column of times.
            where: The rows that count, as in `delete`.
        """
        chosen, parameters = where_clause(stored_table(table), where)
        latest = self.fetch(
            f"SELECT max({quoted(column)}) FROM {quoted(table)} WHERE {chosen}",  # noqa: S608
            parameters,
        ).item()
        now = datetime.now(UTC).replace(tzinfo=None)
        return now if latest is None else max(now, latest + timedelta(microseconds=1))

    def require_unique(self, table: str, where: Where | None = None) -> None:
        """Check that no two rows have the same key.

        Args:
            table: The table or view.
            where: The rows to check, as in `delete`; null: all.

        Raises:
            DuplicateKey: Two rows have; one key is named.
        """
        description = table_named(table)
        chosen, parameters = where_clause(description, where or {})
        self._require_single(
            description,
            f"SELECT {column_list(description.key)}, count(*) AS n FROM {quoted(table)} "  # noqa: S608
            f"WHERE {chosen} GROUP BY ALL",
            parameters,
        )

    def _replacement(
        self, table: Table, rows: pl.DataFrame | Path, where: Where | None, constants: Constants
    ) -> int:
        if _is_void(rows):
            return 0
        with stage_rows(self._connection, table, rows, constants) as source:
            if where is None:
                self._delete_keys(table, source)
            else:
                self._require_within(table, source, where)
            return self._insert(table, source)

    def _insert(self, table: Table, source: StagedRows) -> int:
        columns = ", ".join(
            f"{what} AS {quoted(name)}" for name, what in source.expressions.items()
        )
        return self.execute(
            f"INSERT INTO {quoted(table.name)} BY NAME SELECT {columns} FROM {source.relation}"  # noqa: S608
        )

    def _delete_keys(self, table: Table, source: StagedRows) -> None:
        source.require(table, table.key)
        self.execute(
            "CREATE OR REPLACE TEMP TABLE incoming_keys AS "  # noqa: S608
            f"SELECT {column_list(table.key)}, count(*) AS n FROM {source.relation} GROUP BY ALL"
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

    def _require_within(self, table: Table, source: StagedRows, where: Where) -> None:
        source.require(table, where)
        within, parameters = where_clause(table, where)
        rows = self.fetch(
            f"SELECT count(*) FROM {source.relation} WHERE ({within}) IS NOT TRUE",  # noqa: S608
            parameters,
        )
        if strays := rows.item():
            raise WarehouseError(
                f"{strays} new rows of {table.name!r} lie outside of what they replace: "
                + ", ".join(f"{name}={value!r}" for name, value in where.items())
            )


def _is_void(rows: pl.DataFrame | Path) -> bool:
    return isinstance(rows, pl.DataFrame) and rows.is_empty() and rows.width == 0
