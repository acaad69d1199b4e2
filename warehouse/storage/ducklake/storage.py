"""Stores a warehouse in a lake: readers never wait, writers take a lock, failed work is retried."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import duckdb
from tenacity import Retrying, retry_if_exception, wait_exponential_jitter
from tenacity.stop import stop_base

from warehouse.errors import WarehouseConflict, WarehouseError, WarehouseUnreachable
from warehouse.storage.connect import ending_query
from warehouse.storage.ducklake.export import export_lake
from warehouse.storage.ducklake.session import (
    CONNECTION_LOST,
    SERVER_PATIENCE_S,
    Session,
    catalog_exists,
    drop_session,
    mask_password,
    shared_session,
    unreachable_error,
    was_reached,
)
from warehouse.storage.ducklake.write_lock import roll_back, write_lock
from warehouse.storage.migrate import require_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tenacity import RetryCallState

    from warehouse.storage.connection import Settings
    from warehouse.storage.location import Lake

T = TypeVar("T")


class _StopAfterFailing(stop_base):
    """Stops when attempts have failed for some seconds; the wait for the lock does not count."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first: float | None = None

    def __call__(self, retry_state: RetryCallState) -> bool:  # noqa: ARG002 - tenacity's signature
        now = time.monotonic()
        if self._first is None:
            self._first = now
        return now - self._first >= self._seconds


@dataclass(frozen=True, slots=True)
class LakeStorage:
    """A warehouse in a lake, created with all tables on first use.

    It waits up to `patience_s` for other writers, and at most `SERVER_PATIENCE_S` of it for an
    unavailable server.
    """

    lake: Lake
    settings: Settings
    patience_s: float

    def exists(self) -> bool:
        """Return whether the catalog has the lake's tables.

        Raises:
            WarehouseUnreachable: The server was unavailable for too long, or never reached.
        """
        found: bool = self._retrying(catalog_exists, self.lake)
        return found

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection that sees the current snapshot of the lake."""
        opened = self.session()
        with self.cursor(opened) as cursor:
            cursor.begin()
            require_version(cursor, self.lake)
            yield cursor

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection in a transaction, under the write lock."""
        with self._writing(uuid4().hex) as cursor:
            yield cursor

    def read(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run work on a read-only connection; repeat it while the server is unavailable.

        Raises:
            WarehouseUnreachable: It was unavailable for too long, or never reached.
        """

        def attempt() -> T:
            with self.reading() as connection:
                return work(connection)

        result: T = self._retrying(attempt)
        return result

    def write(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Run work in a transaction; repeat it while the transaction fails.

        Raises:
            WarehouseConflict, WarehouseUnreachable: It failed for too long.
        """
        result: T = self._retrying(self._attempt, work)
        return result

    def copy(self, target: Path) -> None:
        """Write the current snapshot of the lake to a DuckDB file."""
        self.read(lambda cursor: export_lake(cursor, target))

    def size_bytes(self) -> int:
        """Return the size of the files in bytes, which is about that of a copy."""
        query = "SELECT coalesce(sum(file_size_bytes), 0)::BIGINT FROM ducklake_table_info('lake')"
        ((size,),) = self.read(lambda cursor: cursor.execute(query).fetchall())
        return int(size)

    def session(self) -> Session:
        """Return the session of this process."""
        return shared_session(self.lake, self.settings, self.patience_s)

    @property
    def _retrying(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(self._is_temporary),
            stop=_StopAfterFailing(min(self.patience_s, SERVER_PATIENCE_S)),
            wait=wait_exponential_jitter(multiplier=0.05, max=2.0, jitter=0.1),
            reraise=True,
        )

    def _is_temporary(self, error: BaseException) -> bool:
        # Do not wait for a server that was never reached: its address is probably wrong.
        if isinstance(error, WarehouseUnreachable):
            return was_reached(self.lake)
        return isinstance(error, WarehouseConflict)

    def _attempt(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        token = uuid4().hex
        result: list[T] = []
        try:
            with self._writing(token) as cursor:
                result.append(work(cursor))
        except WarehouseUnreachable:
            # The connection may have been lost after the commit.
            if result and self._is_committed(token):
                return result[0]
            raise
        return result[0]

    def _is_committed(self, token: str) -> bool:
        with self.reading() as cursor:
            found = cursor.execute(
                "SELECT count(*) FROM ducklake_snapshots('lake') WHERE commit_extra_info = $token",
                {"token": token},
            ).fetchone()
        return found is not None and found[0] > 0

    @contextmanager
    def _writing(self, token: str) -> Iterator[duckdb.DuckDBPyConnection]:
        opened = self.session()
        with (
            self.cursor(opened) as cursor,
            write_lock(opened.guard(), self.lake, self.patience_s) as held,
        ):
            cursor.begin()
            require_version(cursor, self.lake)
            cursor.execute(
                "CALL ducklake_set_commit_message('lake', 'scoreline', '', extra_info => $token)",
                {"token": token},
            )
            yield cursor
            if not held.is_held():
                # Another process may have taken the lock.
                raise WarehouseUnreachable(f"{str(self.lake)!r}: the connection was lost")
            cursor.commit()

    @contextmanager
    def cursor(self, opened: Session) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a cursor that translates errors and drops a broken session."""
        try:
            with opened.cursor() as cursor:
                try:
                    with ending_query(cursor):
                        yield cursor
                finally:
                    roll_back(cursor)
        except WarehouseUnreachable:
            drop_session(opened)
            raise
        except duckdb.Error as error:
            translated = self._translate(error, opened)
            if translated is error:
                raise
            raise translated from error

    def _translate(self, error: duckdb.Error, opened: Session) -> Exception:
        text = str(error)
        if not opened.is_alive() or any(each in text for each in CONNECTION_LOST):
            drop_session(opened)
            return unreachable_error(error, self.lake)
        if "Transaction conflict" in text or "maximum retry count" in text:
            return WarehouseConflict(
                f"{str(self.lake)!r}: a process that is not Scoreline's wrote at the same time: "
                f"{mask_password(text.splitlines()[-1], self.lake)}"
            )
        if isinstance(error, duckdb.IOException):
            reason = mask_password(text.splitlines()[0], self.lake)
            return WarehouseError(f"{str(self.lake)!r} cannot be used: {reason}")
        return error
