"""The warehouse: short reads and short transactions on one DuckDB file, behind one lock."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

import duckdb
import polars as pl

from warehouse.connection import Settings, connected
from warehouse.ddl import create_statements, quoted
from warehouse.errors import SchemaOutdated, WarehouseError
from warehouse.lock import FileLock
from warehouse.spool import Scratch, Spool
from warehouse.tables import SCHEMA_VERSION
from warehouse.transaction import Parameters, Transaction, fetched
from warehouse.upgrade import require_version, upgrade

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from warehouse.incoming import Where
    from warehouse.transaction import Rows


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A warehouse file, created with all its tables at its first use.

    No method leaves a connection open: the file is held only while a method runs, or within
    the `with` of `transaction`. Every method raises WarehouseLocked, WarehouseTooNew, NoSpace
    or another WarehouseError when the file cannot be used.

    Attributes:
        path: The DuckDB file.
        patience_s: The seconds to wait for other processes.
        memory_limit: The memory that DuckDB may use before it spills to disk.
        threads: The threads that DuckDB may use; null: one for each core.
    """

    path: Path
    patience_s: float = 30.0
    memory_limit: str = "1GB"
    threads: int | None = None

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """The result of a query as a frame.

        Args:
            sql: One SELECT; parameters are written `$name`, or `?` for a sequence.
            parameters: Their values.
        """
        with self.reading() as connection:
            return fetched(connection, sql, parameters)

    @contextmanager
    def spool(self, sql: str, parameters: Parameters | None = None) -> Iterator[Spool]:
        """The result of a query as a Parquet file beside the warehouse, removed at the end.

        The warehouse is released before the body of the `with` begins. JSON becomes text.
        The order of the rows is not kept unless the query says ORDER BY.
        """
        scratch = Scratch(self.path).own / "spool"
        scratch.mkdir(parents=True, exist_ok=True)
        path = scratch / f"{uuid4().hex}.parquet"
        try:
            with self.reading() as connection:
                rows = _copied(connection, sql, parameters, path)
            yield Spool(path, rows)
        finally:
            path.unlink(missing_ok=True)
            for folder in (scratch, *scratch.parents[:2]):
                # Another thread or process may be using it.
                with suppress(OSError):
                    folder.rmdir()

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
        self._create_if_missing()
        with (
            self._lock.exclusive(),
            self._connected(read_only=False) as connection,
        ):
            Scratch(self.path).sweep()
            connection.begin()
            try:
                yield Transaction(connection)
            except BaseException:
                # After a failed write DuckDB may refuse even this; the first error tells more.
                with suppress(duckdb.Error):
                    connection.rollback()
                raise
            connection.commit()

    def append(self, table: str, rows: Rows) -> int:
        """Insert rows in a transaction of their own; see `Transaction.append`."""
        with self.transaction() as transaction:
            return transaction.append(table, rows)

    def replace(self, table: str, rows: Rows, where: Where | None = None) -> int:
        """Replace rows in a transaction of their own; see `Transaction.replace`."""
        with self.transaction() as transaction:
            return transaction.replace(table, rows, where)

    def marks(self, benchmark: str) -> dict[str, str]:
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
        """A read-only connection under the shared lock, for this room only."""
        self._create_if_missing()
        with ExitStack() as held:
            try:
                connection = held.enter_context(self._reading())
            except SchemaOutdated:
                with self.transaction():
                    pass
                connection = held.enter_context(self._reading())
            yield connection

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock with no connection open, for whoever replaces the file itself."""
        self._create_if_missing()
        with self._lock.exclusive():
            yield

    @contextmanager
    def _reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._lock.shared(), self._connected(read_only=True) as connection:
            yield connection

    @property
    def _lock(self) -> FileLock:
        return FileLock(self.path, self.patience_s)

    @contextmanager
    def _connected(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        settings = Settings(
            memory_limit=self.memory_limit,
            threads=self.threads,
            scratch=Scratch(self.path).own / "duckdb",
        )
        with connected(
            self.path, read_only=read_only, settings=settings, patience_s=self.patience_s
        ) as connection:
            try:
                require_version(connection, self.path)
            except SchemaOutdated:
                if read_only:
                    raise
                upgrade(connection, self.path)
            yield connection

    def _create_if_missing(self) -> None:
        if self.path.exists():
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise WarehouseError(
                f"the folder of the warehouse {str(self.path)!r} cannot be made: {error.strerror}"
            ) from error
        with self._lock.exclusive():
            if not self.path.exists():
                self._create()

    def _create(self) -> None:
        # Made elsewhere and moved, so that a file that is there is always complete.
        with TemporaryDirectory(prefix=".scoreline-", dir=self.path.parent) as folder:
            made = type(self.path)(folder) / self.path.name
            with connected(made, read_only=False, settings=Settings()) as connection:
                connection.begin()
                for statement in create_statements():
                    connection.execute(statement)
                connection.execute(
                    "INSERT INTO meta VALUES ('schema_version', $version)",
                    {"version": str(SCHEMA_VERSION)},
                )
                connection.commit()
            # A log without its database is what somebody forgot to delete.
            self.path.with_name(self.path.name + ".wal").unlink(missing_ok=True)
            made.replace(self.path)


def _copied(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None, path: Path
) -> int:
    target = str(path).replace("'", "''")
    row = connection.execute(
        f"COPY ({_as_text(connection, sql, parameters)}) TO '{target}' "
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
