"""Group commit: the writes of many calls in flight, committed together by one thread."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from calls.ledger.owners import BEAT_S, Owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from calls.ledger.database import LedgerDatabase

    Write: TypeAlias = Callable[[Connection, int], Any]

T = TypeVar("T")

MOST_WRITES: Final = 1_000
"""The most writes in one commit, and in the queue; a faster writer waits."""


class GroupCommit:
    """Commits writes in the order in which they were submitted, and renews the lease meanwhile.

    While one commit is on its way to the disk, the next writes queue up and go together: a write is
    durable at most one commit later, and the number of commits does not grow with the number of
    calls in flight.

    Attributes:
        owner: This process as the owner of claims.
    """

    def __init__(self, database: LedgerDatabase) -> None:
        """Register this process and start the thread."""
        self._database = database
        self.owner = database.write(lambda connection, _: Owner.register(connection))
        self._failure: Exception | None = None
        self._queue: queue.Queue[tuple[Write, Future[Any]] | None] = queue.Queue(MOST_WRITES)
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._thread.start()

    def submit(self, write: Callable[[Connection, int], T]) -> Future[T]:
        """Queue a write, called with the connection and the number of the transaction.

        It may be repeated after a failed commit. The future is done after the commit; cancelling it
        does not cancel the write.
        """
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        self._queue.put((write, future))
        return future

    def drain(self) -> None:
        """Wait until everything is committed; raise the first error of any write."""
        self.submit(lambda *_: None).result()
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """Commit everything that is queued, release all claims, and end the thread."""
        if self._thread.is_alive():
            self.submit(lambda connection, _: self.owner.leave(connection))
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        beaten = time.monotonic()
        while True:
            batch = self._next_batch(beaten + BEAT_S - time.monotonic())
            if time.monotonic() >= beaten + BEAT_S:
                beaten = time.monotonic()
                batch.insert(0, (lambda connection, _: self.owner.beat(connection), Future()))
            ended = batch[-1:] == [None]
            self._commit([each for each in batch if each is not None])
            if ended:
                return

    def _next_batch(self, timeout: float) -> list[tuple[Write, Future[Any]] | None]:
        """Wait for the first write, then take what is queued."""
        batch: list[tuple[Write, Future[Any]] | None] = []
        try:
            batch.append(self._queue.get(timeout=max(0.0, timeout)))
            while batch[-1] is not None and len(batch) < MOST_WRITES:
                batch.append(self._queue.get_nowait())
        except queue.Empty:
            pass
        return batch

    def _commit(self, batch: list[tuple[Write, Future[Any]]]) -> None:
        def write_all(connection: Connection, number: int) -> list[Any]:
            return [write(connection, number) for write, _ in batch]

        try:
            if self._failure is None:
                results = self._database.write(write_all)
            else:
                # A server that was waited for once is not waited for again.
                with self._database.transaction() as transaction:
                    results = write_all(*transaction)
        except Exception as failure:  # noqa: BLE001 - raised where the write is awaited
            self._failure = self._failure or failure
            for _, future in batch:
                future.set_exception(failure)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                future.set_result(result)
