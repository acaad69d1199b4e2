"""The warehouse: short reads and short transactions, on a DuckDB file or on a lake."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from warehouse.errors import WarehouseError
from warehouse.schema.ddl import literal, quoted
from warehouse.storage.connection import Settings
from warehouse.storage.duckdb_file import FileStorage
from warehouse.storage.open import open_storage
from warehouse.storage.scratch import ScratchFolder, ScratchResult
from warehouse.storage.transaction import Parameters, Transaction, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import duckdb
    import pyarrow as pa

    from warehouse.storage.location import Location
    from warehouse.storage.open import Storage
    from warehouse.storage.staging import Where
    from warehouse.storage.transaction import Rows

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A warehouse, created with all its tables at its first use.

    Nobody is kept waiting longer than a method runs, or the `with` of `transaction` lasts. Every
    method raises WarehouseLocked, WarehouseTooNew, NoSpace or another WarehouseError when the
    warehouse cannot be used.

    Attributes:
        path: The DuckDB file, or the lake.
        patience_s: The seconds to wait for other processes.
        memory_limit: The memory that DuckDB may use before it spills to disk.
        threads: The threads that DuckDB may use; null: one for each core.
    """

    path: Location
    patience_s: float = 30.0
    memory_limit: str = "1GB"
    threads: int | None = None

    def exists(self) -> bool:
        """Whether it has been created; nothing is created by asking."""
        return self.storage.exists()

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """The result of a query as a frame.

        Args:
            sql: One SELECT; parameters are written `$name`, or `?` for a sequence.
            parameters: Their values.
        """
        return self.storage.read(lambda connection: fetch_frame(connection, sql, parameters))

    @contextmanager
    def fetch_to_disk(
        self, sql: str, parameters: Parameters | None = None
    ) -> Iterator[ScratchResult]:
        """The result of a query as a Parquet file beside the warehouse, removed at the end.

        The warehouse is released before the body of the `with` begins. JSON becomes text.
        The order of the rows is not kept unless the query says ORDER BY.
        """
        with ScratchFolder(self.path).temporary_directory() as folder:
            path = folder / "spool.parquet"
            rows = self.storage.read(lambda connection: _copied(connection, sql, parameters, path))
            yield ScratchResult(path, rows)

    @contextmanager
    def stream(
        self, sql: str, parameters: Parameters | None = None, *, rows: int = 50_000
    ) -> Iterator[Iterator[pl.DataFrame]]:
        """The result of a query in frames of about so many rows, while it is being computed.

        Other processes may read the warehouse until the end of the `with`, but not write to it:
        this is for work that keeps up with the reading. JSON becomes text.
        """
        with self.reading() as connection:
            reader = connection.execute(_as_text(connection, sql, parameters), parameters)
            batches = reader.to_arrow_reader(rows)
            yield (_framed(batch) for batch in batches)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction: committed at the end of the `with`, rolled back on an exception."""
        with self.storage.writing() as connection:
            yield Transaction(connection)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Carry out work in a transaction, and return what it returns.

        Where the warehouse is a lake, work whose transaction was broken off (another process came
        between, or the server was away) is carried out anew for as long as the patience lasts. So
        it must find out within the transaction whatever it decides by.
        """
        return self.storage.write(lambda connection: work(Transaction(connection)))

    def append(self, table: str, rows: Rows) -> int:
        """Insert rows in a transaction of their own; see `Transaction.append`."""
        return self.write(lambda transaction: transaction.append(table, rows))

    def replace(self, table: str, rows: Rows, where: Where | None = None) -> int:
        """Replace rows in a transaction of their own; see `Transaction.replace`."""
        return self.write(lambda transaction: transaction.replace(table, rows, where))

    def fingerprints(self, benchmark: str) -> dict[str, str]:
        """The digests that the stages of a benchmark were last made from, by stage."""
        rows = self.fetch(
            "SELECT stage, digest FROM marks WHERE benchmark = $benchmark",
            {"benchmark": benchmark},
        )
        return dict(rows.iter_rows())

    def require_unique(self, table: str, where: Where | None = None) -> None:
        """Check that no two rows have the same key; see `Transaction.require_unique`."""
        with self.reading() as connection:
            Transaction(connection).require_unique(table, where)

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection, for this room only."""
        with self.storage.reading() as connection:
            yield connection

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Hold the lock of a file with no connection open, for whoever replaces the file."""
        if not isinstance(self.storage, FileStorage):
            raise WarehouseError(f"{str(self.path)!r} is no file")
        with self.storage.exclusive_lock():
            yield

    def copy(self, target: Path) -> None:
        """Write the warehouse, as it is between two transactions, to a DuckDB file."""
        self.storage.copy(target)

    def size_bytes(self) -> int:
        """The bytes that a copy needs, about."""
        return self.storage.size_bytes()

    @property
    def storage(self) -> Storage:
        """How it is opened where it is, for this room only."""
        settings = Settings(
            memory_limit=self.memory_limit,
            threads=self.threads,
            scratch=ScratchFolder(self.path).process_folder / "duckdb",
        )
        return open_storage(self.path, settings, self.patience_s)


def _copied(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None, path: Path
) -> int:
    row = connection.execute(
        f"COPY ({_as_text(connection, sql, parameters)}) TO {literal(str(path))} "
        "(FORMAT parquet, COMPRESSION uncompressed, ROW_GROUP_SIZE 51200)",
        parameters,
    ).fetchone()
    return int(row[0]) if row is not None else 0


def _as_text(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None) -> str:
    """A query with its columns of JSON turned into text."""
    described = connection.execute(f"SELECT * FROM ({sql}) LIMIT 0", parameters).description  # noqa: S608
    json = [quoted(name) for name, type_, *_ in described or [] if str(type_) == "JSON"]
    listed = ", ".join(f"{name}::VARCHAR AS {name}" for name in json)
    return f"SELECT {f'* REPLACE ({listed})' if json else '*'} FROM ({sql})"  # noqa: S608


def _framed(batch: pa.RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"expected a frame, got {type(frame).__name__}")
    return frame
