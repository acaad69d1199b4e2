"""Turns: who writes to a lake does so alone, and whoever dies lets the next one in.

DuckLake tells conflicts by table: two transactions that overlap and replace rows of the same table
cannot both be committed, however far apart the rows are; and two that insert rows of the same key
can. So writers queue for the few moments of writing, by an advisory lock of PostgreSQL, which the
server gives back when a connection ends. Readers need no turn.
"""

from __future__ import annotations

import time
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

import duckdb

from warehouse.errors import WarehouseLocked, WarehouseUnreachable
from warehouse.schema.ddl import literal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.storage.location import Lake

LOCK_CLASS: Final = int.from_bytes(b"scor")
"""The first number of the lock within the database; the second is that of the lake's schema."""

SLICE_S: Final = 5.0
"""The seconds for which the server is asked to wait at a time: until then, nothing can stop us."""


class WriteLock:
    """The turn of this process; the lock lasts as long as the transaction of its connection."""

    def __init__(self, guard: duckdb.DuckDBPyConnection) -> None:
        self._guard = guard

    def is_held(self) -> bool:
        """Whether the server still knows of it."""
        try:
            query_postgres(self._guard, "SELECT 1")
        except duckdb.Error:
            return False
        return True


@contextmanager
def write_lock(
    guard: duckdb.DuckDBPyConnection, lake: Lake, patience_s: float
) -> Iterator[WriteLock]:
    """Write alone.

    Args:
        guard: A connection with the catalogue's database attached as `guard`; closed at the end.
        lake: The lake to write to.
        patience_s: The seconds to wait for other writers.

    Raises:
        WarehouseLocked: Others wrote for longer than the patience; the one who does is named.
        WarehouseUnreachable: The server went away.
    """
    try:
        _wait(guard, lake, patience_s)
        yield WriteLock(guard)
    finally:
        roll_back(guard)
        guard.close()


def roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Roll back, if there is a transaction; to be done before a connection is closed.

    The connection to the server may be gone. Closing tries to roll back, too, and where that fails
    nobody is told: DuckDB ends the process.
    """
    with suppress(duckdb.Error):
        connection.rollback()


def query_postgres(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    """What PostgreSQL answers, on the one connection that the transaction has."""
    query = f"SELECT * FROM postgres_query('guard', {literal(sql)})"  # noqa: S608
    return connection.execute(query).fetchall()


def _number(lake: Lake) -> int:
    return zlib.crc32(lake.schema.encode()) & 0x7FFFFFFF


def _wait(guard: duckdb.DuckDBPyConnection, lake: Lake, patience_s: float) -> None:
    key = f"{LOCK_CLASS}, {_number(lake)}"
    deadline = time.monotonic() + patience_s
    while True:
        guard.begin()
        if query_postgres(guard, f"SELECT pg_try_advisory_xact_lock({key})") == [(True,)]:
            return
        left = deadline - time.monotonic()
        if left <= 0:
            who = _holder(guard, lake)
            raise WarehouseLocked(
                f"{str(lake)!r} is being written by {who}; waited {patience_s:g} s"
            )
        slice_ms = max(1, int(1000 * min(left, SLICE_S)))
        begun = time.monotonic()
        try:
            query_postgres(guard, f"SELECT set_config('lock_timeout', '{slice_ms}', true)")
            query_postgres(guard, f"SELECT pg_advisory_xact_lock({key})::text")
        except duckdb.Error as error:
            if time.monotonic() - begun < slice_ms / 2000:
                raise WarehouseUnreachable(f"{str(lake)!r}: the server went away") from error
            # It waited in vain, and its transaction is spoilt.
            guard.rollback()
        else:
            return


def _holder(guard: duckdb.DuckDBPyConnection, lake: Lake) -> str:
    rows = query_postgres(
        guard,
        "SELECT a.application_name, to_char(a.xact_start, 'HH24:MI:SS') FROM pg_locks AS l "  # noqa: S608
        "JOIN pg_stat_activity AS a USING (pid) WHERE l.locktype = 'advisory' AND l.granted "
        f"AND l.classid = {LOCK_CLASS} AND l.objid = {_number(lake)} LIMIT 1",
    )
    if not rows or not rows[0][0]:
        return "another process"
    return f"{rows[0][0]} since {rows[0][1]}"
