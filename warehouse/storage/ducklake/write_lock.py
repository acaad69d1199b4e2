"""The write lock of a lake: an advisory lock of PostgreSQL, which ends with its connection.

DuckLake detects conflicts by table. Two concurrent transactions that replace different rows of a
table conflict, and two that insert rows with the same key do not. Writers therefore exclude each
other for the duration of a transaction. Readers do not need the lock.
"""

from __future__ import annotations

import time
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import duckdb

from warehouse.errors import WarehouseLocked, WarehouseUnreachable
from warehouse.schema.quoting import literal
from warehouse.storage.location import describe_application
from warehouse.storage.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.storage.location import Lake

LOCK_CLASS: Final = int.from_bytes(b"scor")
"""The first key of the advisory lock; the second is derived from the lake's schema."""

SLICE_S: Final = 1.0
"""The seconds for which the server waits at a time; signals are only handled in between."""

KEEPALIVES_SQL: Final = (
    "SELECT set_config('tcp_keepalives_' || name, value, true) "
    "FROM (VALUES ('idle', '5'), ('interval', '2'), ('count', '3')) AS keepalives (name, value)"
)
"""Makes the server notice within about ten seconds that the machine of a holder is gone. By
default it waits for two hours, during which the lock stays taken."""


class WriteLock:
    """The lock of this process, which lasts as long as the transaction of its connection."""

    def __init__(self, guard: duckdb.DuckDBPyConnection) -> None:
        self._guard = guard

    def is_held(self) -> bool:
        """Return whether the connection that holds the lock is intact."""
        try:
            query_postgres(self._guard, "SELECT 1")
        except duckdb.Error:
            return False
        return True


@contextmanager
def write_lock(
    guard: duckdb.DuckDBPyConnection, lake: Lake, patience_s: float
) -> Iterator[WriteLock]:
    """Hold the write lock for the duration of the `with`.

    It waits for up to `patience_s` seconds; infinite: as long as others hold the lock. The guard
    has the catalog's database attached as `guard` and is closed at the end.

    Raises:
        WarehouseLocked: Other writers held the lock for longer; names the current one.
        WarehouseUnreachable: The connection was lost.
    """
    try:
        _acquire(guard, lake, patience_s)
        yield WriteLock(guard)
    finally:
        roll_back(guard)
        guard.close()


def roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Roll back an open transaction before its connection is closed.

    Closing a connection rolls back, too, but if the server is unavailable, DuckDB then aborts the
    process.
    """
    with suppress(duckdb.Error):
        connection.rollback()


def query_postgres(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    """Run a query in PostgreSQL, on the connection of the transaction."""
    query = f"SELECT * FROM postgres_query('guard', {literal(sql)})"  # noqa: S608
    return connection.execute(query).fetchall()


def _lock_key(lake: Lake) -> int:
    return zlib.crc32(lake.schema.encode()) & 0x7FFFFFFF


def _acquire(guard: duckdb.DuckDBPyConnection, lake: Lake, patience_s: float) -> None:
    key = f"{LOCK_CLASS}, {_lock_key(lake)}"
    deadline = time.monotonic() + patience_s
    waiting = Waiting()
    while True:
        guard.begin()
        query_postgres(guard, KEEPALIVES_SQL)
        if query_postgres(guard, f"SELECT pg_try_advisory_xact_lock({key})") == [(True,)]:
            return
        left = deadline - time.monotonic()
        if left <= 0:
            raise WarehouseLocked(f"{_describe_holder(guard, lake)}; waited {patience_s:g} s")
        waiting.tell(lambda: _describe_holder(guard, lake))
        slice_ms = max(1, int(1000 * min(left, SLICE_S)))
        started = time.monotonic()
        try:
            query_postgres(guard, f"SELECT set_config('lock_timeout', '{slice_ms}', true)")
            query_postgres(guard, f"SELECT pg_advisory_xact_lock({key})::text")
        except duckdb.Error as error:
            if time.monotonic() - started < slice_ms / 2000:
                raise WarehouseUnreachable(f"{str(lake)!r}: the connection was lost") from error
            # The wait timed out, which aborts the transaction.
            guard.rollback()
        else:
            return


def _describe_holder(guard: duckdb.DuckDBPyConnection, lake: Lake) -> str:
    rows = query_postgres(
        guard,
        "SELECT a.application_name, to_char(a.xact_start, 'HH24:MI:SS') FROM pg_locks AS l "  # noqa: S608
        "JOIN pg_stat_activity AS a USING (pid) WHERE l.locktype = 'advisory' AND l.granted "
        f"AND l.classid = {LOCK_CLASS} AND l.objid = {_lock_key(lake)} LIMIT 1",
    )
    name, since = rows[0] if rows else (None, None)
    holder = f"{describe_application(str(name))} since {since}" if name else "another process"
    return f"{str(lake)!r} is being written by {holder}"
