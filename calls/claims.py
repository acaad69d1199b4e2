"""Finds, claims, makes and stores calls, so that no two processes pay for the same one."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from calls.budget import OVER_BUDGET
from calls.call import Holder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from calls.call import Ledger, Outcome, StoredReply

LOG = logging.getLogger(__name__)

_POLL_S: Final = 0.5
"""The seconds after which a call that another process makes is looked up again."""


class EndsBilled(BaseException):
    """A call ends the run or is cancelled, and has an outcome to store, since it may be billed.

    Attributes:
        outcome: The outcome: a failure, so that the next run makes the call again.
        error: The error or cancellation to raise once the outcome is stored.
    """

    def __init__(self, outcome: Outcome, error: BaseException) -> None:
        super().__init__(outcome, error)
        self.outcome = outcome
        self.error = error


class ClaimedCalls:
    """Makes the calls of one model or system; used on one event loop."""

    def __init__(self, ledger: Ledger, concurrency: int, replies: str) -> None:
        """Set the number of calls that are claimed.

        Args:
            ledger: The ledger.
            concurrency: The most calls in flight.
            replies: What messages call the replies.
        """
        self._ledger = ledger
        self._replies = replies
        # Twice the calls in flight: the next ones are ready, and the rest is left to others.
        self._slots = asyncio.Semaphore(2 * concurrency)
        self._holders: set[Holder] = set()

    async def make(
        self,
        digest: str,
        known: StoredReply | None,
        send: Callable[[], Awaitable[Outcome]],
    ) -> Outcome | StoredReply:
        """Make a call and store its outcome, or wait for the process that makes it.

        Args:
            digest: The call.
            known: The stored outcome that the call is to replace. A usable one stays if the call
                gets no reply.
            send: Makes the call, within its limits. If it raises, nothing is stored, but for the
                outcome of `EndsBilled`, whose error is raised.

        Returns:
            The outcome of the call, or that which another process has stored meanwhile.
        """
        number = -1 if known is None else known.number
        while True:
            async with self._slots:
                found = await self._ledger.claim(digest, number)
                if found is None:
                    return await self._send_and_store(digest, known, number, send)
            if isinstance(found, Holder):
                self._name_once(found)
                await asyncio.sleep(_POLL_S)
            elif found.reply is None and (found.error or "").startswith(OVER_BUDGET):
                # The budget of another run; this one has its own.
                number = found.number
            else:
                return found

    async def _send_and_store(
        self,
        digest: str,
        known: StoredReply | None,
        number: int,
        send: Callable[[], Awaitable[Outcome]],
    ) -> Outcome:
        # With -1 the stored reply stays, and the cost of the outcome is added to its.
        without_reply = -1 if _is_usable(known) else number
        try:
            try:
                outcome = await send()
            except EndsBilled as end:
                await self._ledger.store(end.outcome, without_reply)
                raise end.error from None
            if outcome.reply is not None:
                await self._ledger.store(outcome, number)
            elif _is_usable(known) and not outcome.attempts:
                self._ledger.release(digest)
            else:
                await self._ledger.store(outcome, without_reply)
        except BaseException:
            self._ledger.release(digest)
            raise
        return outcome

    def _name_once(self, holder: Holder) -> None:
        """Say once for each process that this one waits for its replies."""
        if holder not in self._holders:
            self._holders.add(holder)
            LOG.warning(
                "waiting for %s that process %d on %s is asking for",
                self._replies,
                holder.pid,
                holder.host,
            )


def _is_usable(known: StoredReply | None) -> bool:
    """Return whether a stored outcome is better than none: a reply that does not count as lost."""
    return known is not None and known.reply is not None and not known.is_lost
