"""The database of the ledger: an SQLite file, or tables in a PostgreSQL database.

Both have the same tables and statements. SQLite runs in WAL mode with `synchronous = FULL`: a
commit is on disk when it returns.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar
from uuid import uuid4

import sqlalchemy
import tenacity
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from calls.file_system import network_file_system, special_file, why_unwritable
from calls.ledger.errors import (
    LedgerError,
    LedgerFull,
    LedgerLocked,
    LedgerTooNew,
    LedgerUnreachable,
)
from calls.ledger.location import LedgerSchema
from calls.ledger.owners import find_living
from calls.ledger.versions import TABLES, UPGRADES, VERSION
from records.packages import install_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from calls.ledger.location import LedgerLocation
    from calls.ledger.owners import OwnerRow

P = ParamSpec("P")
T = TypeVar("T")

PATIENCE_S: Final = 60.0
"""How long work is repeated while the server is away."""

PAUSE_S: Final = 1.0

BUSY_S: Final = 60.0
"""The longest wait for another process's transaction; transactions take milliseconds."""


class LedgerDatabase:
    """A connection pool to the database of a ledger; thread-safe.

    Attributes:
        id: Identifies this database, so that a new one is not mistaken for a lost one; None until
            the tables are created.
        version: The version of its tables.
    """

    def __init__(self, location: LedgerLocation) -> None:
        """Connect.

        Args:
            location: Where the database is.

        Raises:
            LedgerError: The database cannot be used.
        """
        self._location = location
        self._is_file = not isinstance(location, LedgerSchema)
        self.version = VERSION
        with self.errors():
            self._engine = (
                _postgres_engine(location)
                if isinstance(location, LedgerSchema)
                else _sqlite_engine(location.path)
            )
            with self._engine.connect() as connection:
                self.id = self._find(connection)

    def create(self, fill: Callable[[Connection], None]) -> None:
        """Create and fill the tables in one transaction, unless another process was faster."""
        with self.errors(), self._begin() as connection:
            self._lock_tables(connection)
            self.id = self._find(connection)
            if self.id is not None:
                return
            _execute_all(connection, TABLES)
            self.id = uuid4().hex
            connection.execute(
                text("INSERT INTO ledger_store VALUES (:id, :version, 0)"),
                {"id": self.id, "version": VERSION},
            )
            fill(connection)

    def upgrade(self, fill: Callable[[Connection], None]) -> None:
        """Bring the tables of an earlier version up to date in one transaction, and fill them."""
        if self.version == VERSION:
            return
        self._require_unused()
        with self.errors(), self._begin() as connection:
            self._lock_tables(connection)
            self.id = self._find(connection)
            if self.version < VERSION:
                for version, statements in UPGRADES:
                    if version > self.version:
                        _execute_all(connection, statements)
                connection.execute(
                    text("UPDATE ledger_store SET version = :version"), {"version": VERSION}
                )
                fill(connection)
                self.version = VERSION

    def _require_unused(self) -> None:
        """Refuse an upgrade while a process of an earlier version could not store its replies."""

        def read() -> Sequence[OwnerRow]:
            with self.reading() as connection:
                return connection.execute(text("SELECT * FROM ledger_owners")).all()

        living = find_living(read)
        if living is not None:
            raise LedgerLocked(
                f"the ledger of {self._location.owner!r} is used by process {living.pid} on "
                f"{living.host} with an earlier version of Scoreline: wait until it has ended"
            )

    @contextmanager
    def transaction(self) -> Iterator[tuple[Connection, int]]:
        """Write in a transaction; yield the connection and the number of the transaction."""
        with self.errors(), self._begin() as connection:
            number = connection.execute(
                text("UPDATE ledger_store SET seq = seq + 1 RETURNING seq")
            ).scalar_one()
            yield connection, number

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection on which each SELECT sees all commits before it."""
        with self.errors(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def streaming(self) -> Iterator[Connection]:
        """Yield a connection whose results may be streamed."""
        options = {} if self._is_file else {"isolation_level": "READ COMMITTED"}
        with self.errors(), self._engine.connect().execution_options(**options) as connection:
            yield connection

    def connect(self) -> Connection:
        """Return a connection to keep, on which each SELECT sees all commits before it."""
        with self.errors():
            return self._engine.connect()

    def write(self, work: Callable[[Connection, int], T]) -> T:
        """Return the result of work in a transaction, which is repeated while the server is away.

        Work is called with the connection and the number of the transaction.
        """
        attempts: list[tuple[str, T]] = []

        def attempt() -> T:
            with self.transaction() as (connection, number):
                for id_, result in attempts:
                    if self._is_committed(connection, id_):
                        return result
                result = work(connection, number)
                if not self._is_file:
                    # The connection may be lost after the commit, and costs must not count twice.
                    id_ = connection.execute(text("SELECT txid_current()::text")).scalar_one()
                    attempts.append((id_, result))
            return result

        return patiently(attempt)

    def now(self, connection: Connection) -> float:
        """Return the time in seconds of the clock that all processes share."""
        if self._is_file:
            return time.time()
        query = text("SELECT extract(epoch FROM clock_timestamp())::float8")
        return float(connection.execute(query).scalar_one())

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Convert errors of the database to those of the ledger."""
        try:
            yield
        except DBAPIError as error:
            raise _translate(error, self._location) from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def find_fault(self) -> str | None:
        """Return what SQLite finds wrong with its file; None if nothing, and for PostgreSQL."""
        if not self._is_file:
            return None
        with self.reading() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
        return None if found == "ok" else " ".join(str(found).split())

    def _lock_tables(self, connection: Connection) -> None:
        """Wait until no other process creates or alters the tables; SQLite has a lock already."""
        if isinstance(self._location, LedgerSchema):
            connection.execute(text("SELECT pg_advisory_xact_lock(7263527)"))
            if not sqlalchemy.inspect(connection).has_schema(self._location.schema):
                connection.execute(sqlalchemy.schema.CreateSchema(self._location.schema))

    def _is_committed(self, connection: Connection, id_: str) -> bool:
        """Return whether an earlier transaction was committed; this one holds its lock."""
        query = text("SELECT txid_status(:id)")
        return bool(connection.execute(query, {"id": id_}).scalar_one() == "committed")

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE" if self._is_file else "BEGIN")
            try:
                yield connection
                connection.exec_driver_sql("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself if the disk is full; a lost server has, too, and
                # without a connection SQLAlchemy raises an error of its own, in place of this one.
                if not connection.invalidated:
                    with suppress(DBAPIError):
                        connection.exec_driver_sql("ROLLBACK")
                raise

    def _find(self, connection: Connection) -> str | None:
        """Return the identity of the database; None if it has no tables."""
        schema = self._location.schema if isinstance(self._location, LedgerSchema) else None
        if not sqlalchemy.inspect(connection).has_table("ledger_store", schema=schema):
            return None
        found = connection.execute(text("SELECT id, version FROM ledger_store")).one()
        if found.version > VERSION:
            raise LedgerTooNew(
                f"a later version of Scoreline wrote the ledger of {self._location.owner!r}: "
                "update Scoreline"
            )
        self.version = int(found.version)
        return str(found.id)


def _execute_all(connection: Connection, statements: str) -> None:
    for statement in statements.split(";"):
        if statement.strip():
            connection.execute(text(statement))


def patiently(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the result of work, which is repeated while the server is away."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(LedgerUnreachable),
        wait=tenacity.wait_fixed(PAUSE_S),
        stop=tenacity.stop_after_delay(PATIENCE_S),
        reraise=True,
    )
    return retrying(work, *args, **kwargs)


def _sqlite_engine(file: Path) -> Engine:
    _require_local_disk(file)
    special = special_file(file)
    if special is not None:
        raise LedgerError(
            f"the ledger {str(file)!r} is {special}, expected a file: move it away; the next run "
            "takes the replies from the tables of the warehouse, and asks only for what these lack"
        )
    file.parent.mkdir(parents=True, exist_ok=True)

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(
            file, timeout=BUSY_S, isolation_level=None, check_same_thread=False
        )
        # Damaged texts must be readable, so that their checksum shows the damage.
        connection.text_factory = partial(str, encoding="utf-8", errors="replace")
        try:
            # Of two processes that open a new file at once, one is refused without waiting.
            tenacity.Retrying(
                retry=tenacity.retry_if_exception(_is_busy),
                wait=tenacity.wait_random(0, 0.05),
                stop=tenacity.stop_after_delay(BUSY_S),
                reraise=True,
            )(connection.execute, "PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
        return connection

    return sqlalchemy.create_engine("sqlite://", creator=connect, poolclass=sqlalchemy.QueuePool)


def _is_busy(error: BaseException) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")


def _postgres_engine(location: LedgerSchema) -> Engine:
    try:
        import psycopg2
    except ImportError as error:
        raise LedgerError(
            "the warehouse is a lake, and the package 'psycopg2-binary' is not installed: "
            + install_command("lake")
        ) from error

    def connect() -> Any:
        found = location.password()
        password = {} if found is None else {"password": found}
        connection = psycopg2.connect(location.connection, **password)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('search_path', quote_ident(%s), false)", [location.schema]
            )
        return connection

    return sqlalchemy.create_engine(
        "postgresql+psycopg2://",
        creator=connect,
        isolation_level="AUTOCOMMIT",
        pool_pre_ping=True,
    )


def _require_local_disk(file: Path) -> None:
    """Refuse a network file system, on which SQLite's WAL mode loses data."""
    kind = network_file_system(file.parent)
    if kind is not None:
        raise LedgerError(
            f"{str(file.parent)!r} is on a network file system ({kind}), which cannot keep replies "
            "of a judge safe: keep the warehouse on a local disk, or in a lake "
            "(`warehouse: {catalog: 'ducklake:postgres:...'}`)"
        )


def _translate(error: DBAPIError, location: LedgerLocation) -> LedgerError:
    cause = error.orig
    if isinstance(location, LedgerSchema):
        reason = " ".join(str(cause).split())
        message = f"the ledger of {location.owner!r} cannot be used: {reason}"
        return LedgerUnreachable(_without_password(message, location))
    code = getattr(cause, "sqlite_errorname", "")
    where = f"the ledger {str(location.path)!r}"
    if code == "SQLITE_FULL":
        return LedgerFull(f"the disk of {where} is full")
    if code.startswith("SQLITE_BUSY"):
        return LedgerLocked(f"{where} is being written by another process; waited {BUSY_S:g} s")
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
        reason = why_unwritable(location.path.parent)
        return LedgerError(f"{where} cannot be written: {reason} ({cause})")
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return LedgerError(
            f"{where} is damaged ({cause}): restore it from a backup, or move it away; without it "
            f"the next run takes the replies from the tables of {location.owner!r}, and asks only "
            "for what these lack"
        )
    return LedgerError(f"{where} cannot be used: {cause}")


def _without_password(text: str, location: LedgerSchema) -> str:
    password = location.password()
    return text.replace(password, "***") if password else text
