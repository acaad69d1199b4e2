"""The ledger: every paid call and its outcome, shared by all processes of a project."""

from __future__ import annotations

import logging
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from sqlalchemy import text

from calls.ledger import budget
from calls.ledger.database import LedgerDatabase, patiently
from calls.ledger.errors import LedgerUnreachable
from calls.ledger.group_commit import GroupCommit
from calls.ledger.integrity import (
    FIND,
    LedgerCheck,
    add_checksums,
    check_ledger,
    describe_damage,
    is_damaged,
)
from calls.ledger.outcomes import reopen_judgment, seed, store_asks, store_judgment
from calls.ledger.owners import Watch, bury, bury_the_dead

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from sqlalchemy import Connection

    from calls.ledger.budget import Reserved
    from calls.ledger.tables import LedgerTables

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

    def __init__(self, tables: LedgerTables, run_id: str, spender: str | None = None) -> None:
        """Open nothing yet.

        Args:
            tables: Where the ledger is, and the tables that are filled from it.
            run_id: The run that is recorded with every call.
            spender: Under what the calls spend, with a budget of its own; None: the run.
        """
        self._tables = tables
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
            if self._opened is None and not self._tables.may_hold_replies():
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

    @property
    def has_written(self) -> bool:
        """Whether this process has claimed or stored a call."""
        return self._started is not None

    def flush(self) -> None:
        """Fill the tables with what they lack, whichever process wrote it."""
        self._drain()
        self._tables.fill(self._database())

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
        except LedgerUnreachable:
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
                self._opened = patiently(_open_database, self._tables)
            return self._opened


def _open_database(tables: LedgerTables) -> LedgerDatabase:
    """Open the database; a new one takes over the judgments that the tables have already."""
    database = LedgerDatabase(tables.location)
    if database.id is None:
        database.create(lambda connection: seed(connection, tables.rows()))
        tables.taken_over()
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
