"""A warehouse in a lake: reading never waits, writers take turns, broken work is done anew."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

import duckdb
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_exponential_jitter

from warehouse.errors import WarehouseConflict, WarehouseError, WarehouseUnreachable
from warehouse.storage.ducklake.export import export_lake
from warehouse.storage.ducklake.session import (
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
from warehouse.storage.scratch import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from warehouse.storage.connection import Settings
    from warehouse.storage.location import Lake

T = TypeVar("T")

CONNECTION_LOST = (
    *("server closed the connection", "terminating connection", "connection to server"),
    *("no connection to the server", "Connection refused", "the database system is"),
    'Failed to execute query "ROLLBACK"',
)
"""What PostgreSQL and its library say of a server that went away and may be there again."""


@dataclass(frozen=True, slots=True)
class LakeStorage:
    """A lake that is a warehouse, created with all its tables at its first use.

    Attributes:
        lake: Where it is.
        settings: How DuckDB is to work.
        patience_s: The seconds to wait for other writers, and for a server that went away.
    """

    lake: Lake
    settings: Settings
    patience_s: float

    def exists(self) -> bool:
        """Whether the catalogue has the lake's tables.

        Raises:
            WarehouseUnreachable: The server cannot be asked.
        """
        return catalog_exists(self.lake)

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection that sees the lake as it is now, whoever writes meanwhile."""
        opened = self.session()
        with self.cursor(opened) as cursor:
            cursor.begin()
            try:
                require_version(cursor, self.lake)
                yield cursor
            finally:
                roll_back(cursor)

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection in a transaction, in this process's turn."""
        with self._writing(uuid4().hex) as cursor:
            yield cursor

    def read(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out work on a connection for reading, anew while the server comes and goes.

        Raises:
            WarehouseUnreachable: It was away until the patience ended, or has never been there.
        """

        def attempt() -> T:
            with self.reading() as connection:
                return work(connection)

        result: T = self._tries(attempt)
        return result

    def write(self, work: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Carry out work in a transaction, anew while it is broken off.

        Raises:
            WarehouseConflict, WarehouseUnreachable: It was broken off until the patience ended.
        """
        result: T = self._tries(self._attempt, work)
        return result

    def copy(self, target: Path) -> None:
        """Write the lake as it is now to a DuckDB file."""
        with self.reading() as cursor:
            export_lake(cursor, target)

    def size_bytes(self) -> int:
        """The bytes of its files: a copy is about as large."""
        with self.reading() as cursor:
            row = cursor.execute(
                "SELECT coalesce(sum(file_size_bytes), 0)::BIGINT FROM ducklake_table_info('lake')"
            ).fetchone()
        return int(row[0]) if row is not None else 0

    def session(self) -> Session:
        """The connection of this process."""
        return shared_session(self.lake, self.settings, self.patience_s)

    @property
    def _tries(self) -> Retrying:
        return Retrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_delay(self.patience_s),
            wait=wait_exponential_jitter(multiplier=0.05, max=2.0, jitter=0.1),
            reraise=True,
        )

    def _may_pass(self, error: BaseException) -> bool:
        # A server that was never there is no reason to wait: its address is probably wrong.
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
            # The connection may have broken after the server had committed.
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
            ScratchFolder(self.lake).remove_orphans()
            cursor.begin()
            try:
                require_version(cursor, self.lake)
                cursor.execute(
                    "CALL ducklake_set_commit_message("
                    "'lake', 'scoreline', '', extra_info => $token)",
                    {"token": token},
                )
                yield cursor
            except BaseException:
                roll_back(cursor)
                raise
            if not held.is_held():
                # Somebody else may be writing by now.
                raise WarehouseUnreachable(f"{str(self.lake)!r}: the server went away")
            cursor.commit()

    @contextmanager
    def cursor(self, opened: Session) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose errors tell what is the matter; a broken session is forgotten."""
        try:
            with opened.cursor() as cursor:
                yield cursor
        except WarehouseUnreachable:
            drop_session(opened)
            raise
        except duckdb.Error as error:
            told = self._told(error, opened)
            if told is error:
                raise
            raise told from error

    def _told(self, error: duckdb.Error, opened: Session) -> Exception:
        text = str(error)
        if not opened.is_alive() or any(each in text for each in CONNECTION_LOST):
            drop_session(opened)
            return unreachable_error(error, self.lake)
        if "Transaction conflict" in text or "maximum retry count" in text:
            return WarehouseConflict(
                f"{str(self.lake)!r}: another process came between, which is none of "
                f"Scoreline's: {mask_password(text.splitlines()[-1], self.lake)}"
            )
        if isinstance(error, duckdb.IOException):
            return WarehouseError(
                f"{str(self.lake)!r} cannot be used: {mask_password(text.splitlines()[0], self.lake)}"
            )
        return error
