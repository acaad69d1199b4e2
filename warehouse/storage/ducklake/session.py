"""The shared connection of a process to a lake, replaced after the server was unavailable."""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import ExitStack, contextmanager
from multiprocessing.util import Finalize
from typing import TYPE_CHECKING

import duckdb

from warehouse.errors import SchemaOutdated, WarehouseError, WarehouseUnreachable
from warehouse.schema.ddl import create_tables
from warehouse.schema.quoting import literal
from warehouse.storage.connect import connect, import_parameter_types, new_cursor
from warehouse.storage.connection import PAUSE_S, duckdb_config
from warehouse.storage.ducklake.extensions import load_extensions
from warehouse.storage.ducklake.watchdog import Watchdog, servers_since, tcp_connections
from warehouse.storage.ducklake.write_lock import query_postgres, roll_back, write_lock
from warehouse.storage.migrate import migrate, require_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.storage.connection import Settings
    from warehouse.storage.location import Lake

INLINED_TABLES = {"marks": 100, "meta": 100}
"""Tables of a few short rows, with the size up to which DuckLake inlines an insert into PostgreSQL.
Other tables stay in files, because PostgreSQL cannot store text with a null character."""

SERVER_START_SQL = "SELECT pg_postmaster_start_time()::text"
"""Returns the start time of the server."""

SERVER_PATIENCE_S = 30.0
"""The longest wait for an unavailable server."""

RETRYABLE = ("too many clients", "starting up", "shutting down", "remaining connection slots")
"""Messages of PostgreSQL that promise that it is available again soon."""

CONNECTION_LOST = (
    *("server closed the connection", "terminating connection", "connection to server"),
    *("could not receive data from server", "could not send data to server"),
    *("SSL connection has been closed", "SSL SYSCALL error"),
    *("no connection to the server", "Connection refused", "the database system is"),
    *('Failed to execute query "ROLLBACK"', "Current transaction is aborted"),
)
"""Messages of PostgreSQL and libpq about a lost connection, which may be restored.

DuckDB sometimes reports not that error but the transaction that it aborted.
"""


class Session:
    """An in-memory DuckDB with an attached lake; thread-safe.

    It is kept open, because loading the extensions and connecting to the server takes half a
    second, and an attached lake does not block other processes.
    """

    def __init__(self, lake: Lake, settings: Settings, patience_s: float) -> None:
        self.lake = lake
        before = tcp_connections()
        with ExitStack() as stack:
            self._connection = stack.enter_context(connect_catalog(lake, settings, patience_s))
            self._watchdog = Watchdog(servers_since(before))
            stack.callback(self._watchdog.stop)
            try:
                self._started = query_postgres(self._connection, SERVER_START_SQL)
                self._attach(patience_s)
            except duckdb.Error as error:
                if any(each in str(error) for each in CONNECTION_LOST):
                    raise unreachable_error(error, lake) from error
                raise
            self._opened = stack.pop_all()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a new connection with the lake as default database."""
        cursor = new_cursor(self._connection)
        cursor.execute("USE lake")
        return cursor

    def guard(self) -> duckdb.DuckDBPyConnection:
        """Return a new connection for `postgres_query('guard', ...)`."""
        return new_cursor(self._connection)

    def is_alive(self) -> bool:
        """Return whether the server can be reached and has not been restarted."""
        try:
            with self.guard() as guard:
                return query_postgres(guard, SERVER_START_SQL) == self._started
        except duckdb.Error:
            return False

    def close(self) -> None:
        """Close the database; running queries fail."""
        self._opened.close()

    def unwatch(self) -> None:
        """Stop the watchdog of a session that gets no more work."""
        self._watchdog.stop()

    def _attach(self, patience_s: float) -> None:
        if has_catalog(self._connection, self.lake):
            self._attach_lake()
            if self._is_empty():
                with write_lock(self.guard(), self.lake, patience_s):
                    self._create()
        else:
            # Two processes cannot create the catalog at the same time.
            with write_lock(self.guard(), self.lake, patience_s):
                self._attach_lake()
                self._create()
        with self.cursor() as cursor:
            try:
                require_version(cursor, self.lake)
            except SchemaOutdated:
                with write_lock(self.guard(), self.lake, patience_s):
                    migrate(cursor, self.lake)
        self.lake.folder.mkdir(parents=True, exist_ok=True)

    def _attach_lake(self) -> None:
        lake = self.lake
        secret = ", META_SECRET 'scoreline'" if lake.password is not None else ""
        self._connection.execute(
            f"ATTACH {literal('ducklake:postgres:' + lake.connection)} AS lake "
            f"(DATA_PATH {literal(lake.data_path)}, METADATA_SCHEMA {literal(lake.schema)}{secret})"
        )

    def _is_empty(self) -> bool:
        row = self._connection.execute(
            "SELECT count(*) FROM duckdb_tables() WHERE database_name = 'lake'"
        ).fetchone()
        return row == (0,)

    def _create(self) -> None:
        if not self._is_empty():
            return
        with self.cursor() as cursor:
            cursor.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
            cursor.begin()
            try:
                create_tables(cursor)
                cursor.commit()
            finally:
                roll_back(cursor)
            for table, rows in INLINED_TABLES.items():
                cursor.execute(
                    "CALL lake.set_option("
                    f"'data_inlining_row_limit', {rows}, table_name => '{table}')"
                )


@contextmanager
def connect_catalog(
    lake: Lake, settings: Settings, patience_s: float
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an in-memory DuckDB with the catalog's database attached as `guard`.

    Raises:
        WarehouseUnreachable: The server cannot be reached or refuses the connection.
        WarehouseError: The extensions are not installed.
    """
    import_parameter_types()
    config = duckdb_config(settings) | {"autoload_known_extensions": False}
    with connect(config=config, scratch=settings.scratch) as connection:
        load_extensions(connection, lake)
        password = lake.password
        if password is not None:
            connection.execute(
                f"CREATE SECRET scoreline (TYPE postgres, PASSWORD {literal(password)})"
            )
        secret = ", SECRET scoreline" if password is not None else ""
        statement = f"ATTACH {literal(lake.connection)} AS guard (TYPE postgres, READ_ONLY{secret})"
        _attach_catalog(connection, statement, lake, patience_s)
        yield connection


def _attach_catalog(
    connection: duckdb.DuckDBPyConnection, statement: str, lake: Lake, patience_s: float
) -> None:
    deadline = time.monotonic() + min(patience_s, SERVER_PATIENCE_S)
    while True:
        try:
            connection.execute(statement)
        except duckdb.Error as error:
            is_temporary = any(each in str(error) for each in RETRYABLE)
            if not is_temporary or time.monotonic() >= deadline:
                raise unreachable_error(error, lake) from error
        else:
            _REACHED.add(lake)
            return
        time.sleep(PAUSE_S)


def catalog_exists(lake: Lake) -> bool:
    """Return whether the database of a lake holds its catalog."""
    from warehouse.storage.connection import Settings

    with connect_catalog(lake, Settings(threads=1), 0.0) as connection:
        return has_catalog(connection, lake)


def has_catalog(connection: duckdb.DuckDBPyConnection, lake: Lake) -> bool:
    """Return whether the database attached as `guard` holds the catalog of a lake."""
    found = query_postgres(
        connection,
        "SELECT count(*) FROM pg_catalog.pg_tables WHERE tablename = 'ducklake_metadata' "  # noqa: S608
        f"AND schemaname = {literal(lake.schema)}",
    )
    return found == [(1,)]


def unreachable_error(error: duckdb.Error, lake: Lake) -> WarehouseUnreachable:
    """Return an error without the connection string, which DuckDB's message repeats."""
    message = re.split(r'Unable to connect to Postgres at "[^"]*": ', str(error))[-1]
    # The rest quotes the statement in which it happened.
    message = re.split(r"\nLINE \d+:", message)[0]
    lines = [line.strip() for line in message.strip().splitlines() if line.strip()]
    reason = " ".join(lines).removesuffix(":")
    return WarehouseUnreachable(
        mask_password(f"the warehouse {str(lake)!r} cannot be reached: {reason}", lake)
    )


def mask_password(text: str, lake: Lake) -> str:
    """Replace the password in a message with `***`."""
    try:
        password = lake.password
    except WarehouseError:
        return text
    return text.replace(password, "***") if password else text


_SESSIONS: dict[tuple[object, ...], Session] = {}
_REACHED: set[Lake] = set()
_LOCK = threading.Lock()


def shared_session(lake: Lake, settings: Settings, patience_s: float) -> Session:
    """Return the session of this process with a lake."""
    key = (os.getpid(), lake, settings.memory_limit, settings.threads)
    with _LOCK:
        if key not in _SESSIONS:
            if not any(each[0] == os.getpid() for each in _SESSIONS):
                # Runs also in processes that `multiprocessing` started.
                Finalize(None, _close_sessions, exitpriority=0)
            _SESSIONS[key] = Session(lake, settings, patience_s)
        return _SESSIONS[key]


def _close_sessions() -> None:
    """Close the sessions of this process; a forked one must not close those of its parent."""
    for key, session in list(_SESSIONS.items()):
        if key[0] == os.getpid():
            session.close()


def was_reached(lake: Lake) -> bool:
    """Return whether this process has been connected to a lake."""
    return lake in _REACHED


def drop_session(broken: Session) -> None:
    """Drop a session, so that the next caller connects again."""
    broken.unwatch()
    with _LOCK:
        for key in [key for key, each in _SESSIONS.items() if each is broken]:
            del _SESSIONS[key]
