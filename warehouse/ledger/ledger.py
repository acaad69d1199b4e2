"""The ledger: every call of a judge model and its outcome, shared by all processes of a project."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import text

from warehouse.errors import WarehouseUnreachable
from warehouse.ledger import budget
from warehouse.ledger.database import LedgerDatabase, ledger_file, patiently
from warehouse.ledger.fill import (
    fill_tables,
    read_journals,
    read_tables,
    remove_journals,
    reopen_judgment,
    seed,
    store_asks,
    store_judgment,
)
from warehouse.ledger.group_commit import GroupCommit
from warehouse.ledger.integrity import (
    FIND,
    LedgerCheck,
    add_checksums,
    check_ledger,
    describe_damage,
    is_damaged,
)
from warehouse.ledger.owners import Watch, bury, bury_the_dead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from warehouse.ledger.budget import Reserved
    from warehouse.store import Warehouse

T = TypeVar("T")

LOG = logging.getLogger(__name__)

CLAIM: Final = text(
    "INSERT INTO ledger_claims SELECT :digest, :owner WHERE NOT EXISTS ("
    "SELECT 1 FROM ledger_judgments WHERE digest = :digest AND seq > :known) "
    "ON CONFLICT (digest) DO NOTHING"
)
"""Inserts the claim of this process, which makes the call then.

It inserts nothing if a process has claimed the call, or if there is an outcome to use instead: one
later than that which the caller knows and wants to replace.
"""

ASKS: Final = 500
"""The rows of `asks` that are written together. They are not paid for: a killed run's next run
finds them again."""


class Reply(NamedTuple):
    """The outcome of a judge call, and the number of the transaction that wrote it."""

    reply: str | None
    status: str
    error: str | None
    number: int


class Holder(NamedTuple):
    """Another process that makes a call now."""

    pid: int
    host: str


ClaimResult: TypeAlias = Reply | Holder | None
"""A reply, the process that is making the call, or None: the call is this process's to make."""


class Ledger:
    """The ledger in one process; thread-safe.

    It opens its database on first use. Nothing is claimed or stored by a process that only reads.
    """

    def __init__(self, warehouse: Warehouse, run_id: str, spender: str | None = None) -> None:
        self._warehouse = warehouse
        self._run_id = run_id
        self._spender = spender or run_id
        self._lock = RLock()
        self._opened: LedgerDatabase | None = None
        self._started: GroupCommit | None = None
        self._reader: Connection | None = None
        self._asks: list[Mapping[str, Any]] = []
        self._watch = Watch()

    def find(self, digest: str) -> Reply | None:
        """Return the outcome of a call, if it was ever made; a damaged one counts as a failure."""
        with self._lock:
            if self._opened is None and not _has_replies(self._warehouse):
                return None
            return patiently(self._find, digest)

    def claim(self, digest: str, known: int) -> Future[ClaimResult]:
        """Claim a call, unless there is a reply or another living process makes it.

        Args:
            digest: The call.
            known: The number of the outcome that the caller knows and wants to replace; a later one
                is returned. -1 for none.
        """

        def write(connection: Connection, _: int) -> ClaimResult:
            values = {"digest": digest, "owner": owner, "known": known}
            if connection.execute(CLAIM, values).rowcount == 1:
                return None
            found = connection.execute(FIND, {"digest": digest}).mappings().one_or_none()
            if found is not None and found["seq"] > known:
                return _reply(found)
            query = "SELECT owner FROM ledger_claims WHERE digest = :digest"
            holder = connection.execute(text(query), {"digest": digest}).scalar_one()
            if holder != owner:
                query = "SELECT * FROM ledger_owners WHERE owner = :owner"
                row = connection.execute(text(query), {"owner": holder}).one()
                if not self._watch.is_dead(row):
                    return Holder(row.pid, row.host)
                bury(connection, holder)
                connection.execute(CLAIM, values)
            return None

        writer = self._writer()
        owner = writer.owner.id
        return writer.submit(write)

    def release(self, digest: str) -> None:
        """Release a claim without a judgment."""
        writer = self._writer()
        values = {"digest": digest, "owner": writer.owner.id}
        writer.submit(lambda connection, _: _release(connection, values))

    def record_judgment(self, row: Mapping[str, Any], known: int = -1) -> Future[None]:
        """Store a judgment and release its claim; the future is done when both are on disk.

        Args:
            row: The columns of `judgments` except `run_id`, with JSON and times as text.
            known: The number of the outcome that it replaces; a failure is replaced anyway. See
                `store_judgment`.
        """
        values = {**row, "run_id": self._run_id}

        def write(connection: Connection, number: int) -> None:
            store_judgment(connection, values, number, known)
            _release(connection, {"digest": row["digest"], "owner": owner})

        writer = self._writer()
        owner = writer.owner.id
        return writer.submit(write)

    def record_ask(self, row: Mapping[str, Any]) -> None:
        """Record which sample needed a judge call, with the columns of `asks`."""
        with self._lock:
            self._asks.append(row)
            is_full = len(self._asks) >= ASKS
        if is_full:
            self._write_asks()

    def reserve(self, **amounts: Any) -> Future[Reserved | bool]:
        """Set aside the cost of a call; see `budget.reserve`."""

        def write(connection: Connection, _: int) -> Reserved | bool:
            granted = budget.reserve(connection, owner, self._spender, **amounts)
            if granted is not True:
                return granted
            # The amounts of a killed process would be waited for in vain.
            bury_the_dead(connection, self._watch)
            return budget.reserve(connection, owner, self._spender, **amounts)

        writer = self._writer()
        owner = writer.owner.id
        return writer.submit(write)

    def settle(self, reservation: str | None, usd: float) -> None:
        """Record the cost of a call in US dollars, in place of an amount that was set aside."""
        spender = self._spender
        self._writer().submit(
            lambda connection, _: budget.settle(connection, spender, reservation, usd)
        )

    def start(self, rate: str, per_minute: float, amount: float) -> Future[float]:
        """Take units of a rate; return 0, or the seconds to wait; see `budget.start`."""
        database = self._database()
        return self._writer().submit(
            lambda connection, _: budget.start(
                connection, database.now(connection), rate, per_minute, amount
            )
        )

    def spent_usd(self) -> float:
        """Return what this run has spent, in US dollars, including calls that may be billed."""
        self._drain()
        spender = self._spender
        return patiently(self._read, lambda connection: budget.spent_by_run(connection, spender))

    def spent_last_day_usd(self) -> float:
        """Return what all runs have spent on judges in 24 hours, or on the spender's system."""
        self._drain()
        spender = self._spender
        return patiently(self._read, lambda connection: budget.spent_last_day(connection, spender))

    def flush(self) -> None:
        """Fill the tables of the warehouse with what they lack, whichever process wrote it."""
        self._drain()
        fill_tables(self._warehouse, self._database())

    def has_replies_of(self, model: str) -> bool:
        """Return whether a model has ever answered a call."""
        query = text("SELECT 1 FROM ledger_judgments WHERE model = :model AND reply IS NOT NULL")
        return (
            patiently(
                self._read, lambda connection: connection.execute(query, {"model": model}).first()
            )
            is not None
        )

    def check(self) -> LedgerCheck:
        """Check every stored outcome against its checksum."""
        return check_ledger(self._database())

    def reopen(self, digests: Sequence[str]) -> None:
        """Let the outcomes of calls count as failures, so that the calls are made again."""

        def write(connection: Connection, number: int) -> None:
            for digest in digests:
                reopen_judgment(connection, digest, number)

        self._database().write(write)

    def forget(self, digests: Sequence[str]) -> None:
        """Delete judgments."""
        if digests:
            rows = [{"digest": digest} for digest in digests]
            delete = text("DELETE FROM ledger_judgments WHERE digest = :digest")
            self._database().write(lambda connection, _: connection.execute(delete, rows))

    def close(self) -> None:
        """Release the claims of this process and close the database."""
        if self._started is not None:
            self._write_asks()
            self._started.close()
        if self._reader is not None:
            self._reader.close()
        if self._opened is not None:
            self._opened.close()

    def _find(self, digest: str) -> Reply | None:
        if self._reader is None:
            self._reader = self._database().connect()
        try:
            with self._database().errors():
                found = self._reader.execute(FIND, {"digest": digest}).mappings().one_or_none()
        except WarehouseUnreachable:
            self._reader = None
            raise
        return None if found is None else _reply(found)

    def _read(self, query: Callable[[Connection], T]) -> T:
        with self._database().reading() as connection:
            return query(connection)

    def _write_asks(self) -> None:
        with self._lock:
            rows, self._asks = self._asks, []
        if rows:
            self._writer().submit(lambda connection, number: store_asks(connection, number, rows))

    def _drain(self) -> None:
        """Wait until everything is stored; raise the error if something could not be."""
        self._write_asks()
        if self._started is not None:
            self._started.drain()

    def _writer(self) -> GroupCommit:
        with self._lock:
            if self._started is None:
                self._started = GroupCommit(self._database())
            return self._started

    def _database(self) -> LedgerDatabase:
        with self._lock:
            if self._opened is None:
                self._opened = patiently(_open_database, self._warehouse)
            return self._opened


@contextmanager
def open_ledger(warehouse: Warehouse, run_id: str, spender: str | None = None) -> Iterator[Ledger]:
    """Open the ledger of a warehouse.

    Args:
        warehouse: The warehouse.
        run_id: The run that is recorded with every call.
        spender: Under what the calls spend, with a budget of its own; None: the run.
    """
    ledger = Ledger(warehouse, run_id, spender)
    try:
        yield ledger
    finally:
        ledger.close()


def has_ledger(warehouse: Warehouse) -> bool:
    """Return whether there is a ledger, or journals of version 0.1, without creating one."""
    path = warehouse.path
    if _journal_folder(warehouse).is_dir():
        return True
    if isinstance(path, Path):
        return (warehouse.ledger or ledger_file(path)).exists()
    database = LedgerDatabase(path)
    try:
        return database.id is not None
    finally:
        database.close()


def _journal_folder(warehouse: Warehouse) -> Path:
    return warehouse.path.with_name(warehouse.path.name + ".journal")


def _has_replies(warehouse: Warehouse) -> bool:
    """Return whether there may be replies, without creating anything."""
    return warehouse.exists() or has_ledger(warehouse)


def _open_database(warehouse: Warehouse) -> LedgerDatabase:
    """Open the database; a new one gets the judgments that the warehouse has already."""
    database = LedgerDatabase(warehouse.path, warehouse.ledger)
    if database.id is None:
        folder = _journal_folder(warehouse)
        rows = chain(read_tables(warehouse), read_journals(folder))
        database.create(lambda connection: seed(connection, rows))
        remove_journals(folder)
    database.upgrade(add_checksums)
    return database


def _reply(row: Mapping[Any, Any]) -> Reply:
    """Return a stored outcome; a damaged one is named, and counts as a failure."""
    if is_damaged(row):
        reason = describe_damage(row["digest"])
        LOG.warning("%s: it is not used, and the call counts as failed", reason)
        return Reply(None, "judge_error", reason, row["seq"])
    return Reply(row["reply"], row["status"], row["error"], row["seq"])


def _release(connection: Connection, values: Mapping[str, str]) -> None:
    connection.execute(
        text("DELETE FROM ledger_claims WHERE digest = :digest AND owner = :owner"), values
    )
