"""Transactions: changes to the warehouse that take effect together or not at all."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

import duckdb

from warehouse.errors import DuplicateKey, WarehouseError
from warehouse.schema.quoting import quoted
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
    from collections.abc import Iterable, Iterator, Mapping

    import polars as pl

    from warehouse.storage.connect import Parameters

    Rows: TypeAlias = pl.DataFrame | Path | Iterable[pl.DataFrame]

NO_CONSTANTS: Final[Constants] = MappingProxyType({})


def fetch_frame(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None = None
) -> pl.DataFrame:
    """Return the result of a query as a frame; JSON becomes text, a MAP a Polars map."""
    return connection.execute(sql, parameters).pl()


class Transaction:
    """An open transaction, which `Warehouse.transaction` begins and ends.

    Rows are a Polars frame, an iterable of frames, or the path of a Parquet file or a folder of
    them. Columns are matched by name; a missing column is null. JSON columns take text.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        """Write through a connection; temporary files are created in `folder`."""
        self._connection = connection
        self._folder = folder

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of a query, which sees the changes made so far."""
        return fetch_frame(self._connection, sql, parameters)

    def execute(self, sql: str, parameters: Parameters | None = None) -> int:
        """Run a statement that changes rows.

        Returns:
            The number of changed rows; -1 for statements that do not change rows.
        """
        row = self._connection.execute(sql, parameters).fetchone()
        return int(row[0]) if row is not None and isinstance(row[0], int) else -1

    def disable_text_compression(self, *, unless_repeated: bool = False) -> None:
        """Write the text of this transaction uncompressed, which is faster.

        For a million predictions with ten documents each this takes 3.1 s instead of 5.6 s, and 216
        MB instead of 77 MB. With `unless_repeated`, repeated text is compressed: a million grades
        then take seven eighths of the time, and 44 MB instead of 36 MB.
        """
        methods = "fsst" if unless_repeated else "fsst,dictionary"
        self._connection.execute(f"SET disabled_compression_methods = '{methods}'")

    @contextmanager
    def inserting_in_order(self) -> Iterator[None]:
        """Insert few rows at a time, in their order, during the `with`.

        Otherwise each of DuckDB's threads collects them in an own table: an insertion of 150 rows
        then takes twice the time, and 0.9 MB instead of 0.14 MB until the transaction ends.
        """
        self._connection.execute("SET preserve_insertion_order = true")
        try:
            yield
        finally:
            # After a failed statement it fails, too, and the database is not used again.
            with suppress(duckdb.Error):
                self._connection.execute("SET preserve_insertion_order = false")

    def delete(self, table: str, where: Where) -> int:
        """Delete rows; return their number.

        `where` holds columns with the required value (null included), or with a list, tuple or set
        of accepted values. Empty: all rows.

        Raises:
            UnknownTable, UnknownColumn: The table or column does not exist.
        """
        chosen, parameters = where_clause(table_named(table), where)
        return self.execute(f"DELETE FROM {quoted(table)} WHERE {chosen}", parameters)  # noqa: S608

    def append(self, table: str, rows: Rows, constants: Constants = NO_CONSTANTS) -> int:
        """Insert rows without a check of their keys (see `require_unique`); return their number.

        `constants` are further columns with the value that all rows share.

        Raises:
            UnknownTable, UnknownColumn: The table or column does not exist.
        """
        import polars as pl

        description = stored_table(table)
        if not isinstance(rows, pl.DataFrame | Path):
            return sum(self.append(table, batch, constants) for batch in rows)
        if _has_no_columns(rows):
            return 0
        with stage_rows(self._connection, description, rows, constants, self._folder) as source:
            return self._insert(description, source)

    def replace(
        self,
        table: str,
        rows: Rows,
        where: Where | None = None,
        constants: Constants = NO_CONSTANTS,
    ) -> int:
        """Delete the rows that new ones replace, insert the new ones, and return their number.

        `where` selects the rows to delete, as in `delete`; every new row must satisfy it, so that a
        second run deletes the rows of the first. Null: the rows with the key of a new row.
        `constants` are as for `append`.

        Raises:
            UnknownTable, UnknownColumn: The table or column does not exist.
            DuplicateKey: Two rows of a frame or file have the same key (when `where` is null).
            WarehouseError: A new row does not satisfy `where`.
        """
        import polars as pl

        description = stored_table(table)
        if where is not None:
            self.delete(table, where)
        if not isinstance(rows, pl.DataFrame | Path):
            return sum(self._replace(description, batch, where, constants) for batch in rows)
        return self._replace(description, rows, where, constants)

    def record_fingerprint(self, benchmark: str, stage: str, digest: str) -> None:
        """Record the digest of all inputs of a stage of a benchmark."""
        self.record_fingerprints(stage, {benchmark: digest})

    def record_fingerprints(self, stage: str, digests: Mapping[str, str]) -> None:
        """Record the digests of all inputs of a stage, by benchmark."""
        import polars as pl

        rows = {"benchmark": list(digests), "digest": list(digests.values())}
        now = datetime.now(UTC).replace(tzinfo=None)
        frame = pl.DataFrame(rows, schema=dict.fromkeys(rows, pl.String))
        where = {"benchmark": list(digests), "stage": stage}
        self.replace("marks", frame.with_columns(stage=pl.lit(stage), marked_at=now), where=where)

    def next_timestamp(self, table: str, column: str, where: Where) -> datetime:
        """Return the current time (UTC), or a later one than all in a column of some rows.

        The last written row thus has the latest time, even if the clock was set back. `where`
        selects the rows as in `delete`.
        """
        chosen, parameters = where_clause(stored_table(table), where)
        latest = self.fetch(
            f"SELECT max({quoted(column)}) FROM {quoted(table)} WHERE {chosen}",  # noqa: S608
            parameters,
        ).item()
        now = datetime.now(UTC).replace(tzinfo=None)
        return now if latest is None else max(now, latest + timedelta(microseconds=1))

    def require_unique(self, table: str, where: Where | None = None) -> None:
        """Check that no two rows of a table or view have the same key; `where` is as in `delete`.

        Raises:
            DuplicateKey: Two rows have the same key, which is named.
        """
        description = table_named(table)
        chosen, parameters = where_clause(description, where or {})
        self._require_single(
            description,
            f"SELECT {column_list(description.key)}, count(*) AS n FROM {quoted(table)} "  # noqa: S608
            f"WHERE {chosen} GROUP BY ALL",
            parameters,
        )

    def _replace(
        self, table: Table, rows: pl.DataFrame | Path, where: Where | None, constants: Constants
    ) -> int:
        if _has_no_columns(rows):
            return 0
        with stage_rows(self._connection, table, rows, constants, self._folder) as source:
            if where is None:
                self._delete_keys(table, source)
            else:
                self._require_within(table, source, where)
            return self._insert(table, source)

    def _insert(self, table: Table, source: StagedRows) -> int:
        columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in source.expressions.items())
        return self.execute(
            f"INSERT INTO {quoted(table.name)} BY NAME SELECT {columns} FROM {source.relation}"  # noqa: S608
        )

    def _delete_keys(self, table: Table, source: StagedRows) -> None:
        source.require(table, table.key)
        key = ", ".join(f"{source.expressions[name]} AS {quoted(name)}" for name in table.key)
        self.execute(
            "CREATE OR REPLACE TEMP TABLE incoming_keys AS "  # noqa: S608
            f"SELECT {key}, count(*) AS n FROM {source.relation} GROUP BY ALL"
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
                f"{strays} new rows of {table.name!r} are not among those they replace: "
                + ", ".join(f"{name}={value!r}" for name, value in where.items())
            )


def _has_no_columns(rows: pl.DataFrame | Path) -> bool:
    return not isinstance(rows, Path) and rows.is_empty() and rows.width == 0
