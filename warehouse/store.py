"""The warehouse: short reads and transactions on a DuckDB file or a lake."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from warehouse.errors import WarehouseError
from warehouse.schema.quoting import literal, quoted
from warehouse.storage.connection import Settings
from warehouse.storage.duckdb_file import FileStorage
from warehouse.storage.location import Lake
from warehouse.storage.memory import SMALL_BYTES
from warehouse.storage.scratch import ScratchResult, scratch_folder
from warehouse.storage.transaction import Transaction, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb
    import pyarrow as pa

    from warehouse.storage.connect import Parameters
    from warehouse.storage.ducklake.storage import LakeStorage
    from warehouse.storage.location import Location
    from warehouse.storage.staging import Where
    from warehouse.storage.transaction import Rows

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A warehouse, created with all tables on first use.

    Other processes wait only while a method runs or the `with` of `transaction` lasts. Every method
    raises WarehouseLocked, WarehouseTooNew, NoSpace or another WarehouseError if the warehouse
    cannot be used.

    Attributes:
        path: The DuckDB file or the lake.
        patience_s: The seconds to wait for other processes.
        memory_limit: The memory that each DuckDB database of each process uses before it spills to
            disk, such as `4GB`; null: half of the memory of the machine or container.
        threads: The number of DuckDB's threads; null: one for each core that has enough memory,
            and one for a small file.
        ledger: The file of the ledger of a DuckDB file; null: beside it.
    """

    path: Location
    patience_s: float = 30.0
    memory_limit: str | None = None
    threads: int | None = None
    ledger: Path | None = None

    def exists(self) -> bool:
        """Return whether the warehouse exists, without creating it."""
        return self.storage.exists()

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of one SELECT as a frame; parameters are `$name`, or `?` in a list."""
        return self.storage.read(lambda connection: fetch_frame(connection, sql, parameters))

    @contextmanager
    def fetch_to_disk(
        self, sql: str, parameters: Parameters | None = None
    ) -> Iterator[ScratchResult]:
        """Write the result of a query to a Parquet file that is removed at the end of the `with`.

        The body of the `with` does not hold the warehouse. JSON becomes text. Rows have no defined
        order without ORDER BY.
        """
        with scratch_folder(self.path.parent) as folder:
            path = folder / "result.parquet"
            rows = self.storage.read(
                lambda connection: _copy_to_parquet(connection, sql, parameters, path)
            )
            yield ScratchResult(path, rows)

    @contextmanager
    def stream(
        self, sql: str, parameters: Parameters | None = None, *, rows: int = 50_000
    ) -> Iterator[Iterator[pl.DataFrame]]:
        """Stream the result of a query in frames of about `rows` rows.

        Other processes can read but not write the warehouse until the end of the `with`, so use it
        for fast processing only. JSON becomes text.
        """
        with self.reading() as connection:
            reader = connection.execute(_as_text(connection, sql, parameters), parameters)
            batches = reader.to_arrow_reader(rows)
            yield (_to_frame(batch) for batch in batches)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction, committed at the end of the `with`, rolled back on an exception."""
        with self.storage.writing() as connection:
            yield Transaction(connection, self.path.parent)

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run work in a transaction and return its result.

        In a lake, work is repeated for up to `patience_s` if its transaction fails (a conflict, or
        an unavailable server). It must therefore read everything it depends on in the transaction.
        """
        return self.storage.write(
            lambda connection: work(Transaction(connection, self.path.parent))
        )

    def append(self, table: str, rows: Rows) -> int:
        """Insert rows in one transaction; see `Transaction.append`."""
        return self.write(lambda transaction: transaction.append(table, rows))

    def replace(self, table: str, rows: Rows, where: Where | None = None) -> int:
        """Replace rows in one transaction; see `Transaction.replace`."""
        return self.write(lambda transaction: transaction.replace(table, rows, where))

    def fingerprints(self, benchmark: str) -> dict[str, str]:
        """Return the input digest with which each stage of a benchmark was last computed."""
        return self.all_fingerprints([benchmark])[benchmark]

    def all_fingerprints(self, benchmarks: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the input digests with which the stages of benchmarks were last computed."""
        found: dict[str, dict[str, str]] = {name: {} for name in benchmarks}
        rows = self.fetch(
            "SELECT benchmark, stage, digest FROM marks WHERE list_contains($names, benchmark)",
            {"names": list(benchmarks)},
        )
        for benchmark, stage, digest in rows.iter_rows():
            found[benchmark][stage] = digest
        return found

    def require_unique(self, table: str, where: Where | None = None) -> None:
        """Check that keys are unique; see `Transaction.require_unique`."""
        with self.reading() as connection:
            Transaction(connection, self.path.parent).require_unique(table, where)

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a read-only connection, for this package only."""
        with self.storage.reading() as connection:
            yield connection

    @contextmanager
    def exclusive_lock(self) -> Iterator[None]:
        """Hold the lock of a file without a connection, for replacing the file."""
        if not isinstance(self.storage, FileStorage):
            raise WarehouseError(f"{str(self.path)!r} is not a file")
        with self.storage.exclusive_lock():
            yield

    def copy(self, target: Path) -> None:
        """Copy the warehouse, as it is between two transactions, to a DuckDB file."""
        self.storage.copy(target)

    def size_bytes(self) -> int:
        """Return the approximate size of a copy in bytes."""
        return self.storage.size_bytes()

    @property
    def settings(self) -> Settings:
        """The settings of DuckDB, for this package only."""
        return Settings(
            memory_limit=self.memory_limit,
            threads=self.threads or (1 if self._is_small else None),
            scratch=self.path.parent,
        )

    @property
    def _is_small(self) -> bool:
        try:
            return isinstance(self.path, Path) and self.path.stat().st_size <= SMALL_BYTES
        except OSError:
            return True

    @property
    def storage(self) -> FileStorage | LakeStorage:
        """The storage at its location, for this package only."""
        settings = self.settings
        if isinstance(self.path, Lake):
            from warehouse.storage.ducklake.storage import LakeStorage

            return LakeStorage(self.path, settings, self.patience_s)
        return FileStorage(self.path, settings, self.patience_s)


def _copy_to_parquet(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None, path: Path
) -> int:
    row = connection.execute(
        f"COPY ({_as_text(connection, sql, parameters)}) TO {literal(str(path))} "
        "(FORMAT parquet, COMPRESSION uncompressed, ROW_GROUP_SIZE 51200)",
        parameters,
    ).fetchone()
    return int(row[0]) if row is not None else 0


def _as_text(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None) -> str:
    """Return a query with its JSON columns cast to text."""
    described = connection.execute(f"SELECT * FROM ({sql}) LIMIT 0", parameters).description  # noqa: S608
    json = [quoted(name) for name, type_, *_ in described or [] if str(type_) == "JSON"]
    listed = ", ".join(f"{name}::VARCHAR AS {name}" for name in json)
    return f"SELECT {f'* REPLACE ({listed})' if json else '*'} FROM ({sql})"  # noqa: S608


def _to_frame(batch: pa.RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    if not isinstance(frame, pl.DataFrame):
        raise TypeError(f"expected a frame, got {type(frame).__name__}")
    return frame
