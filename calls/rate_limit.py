"""Rate limits: the requests in flight, and the requests and tokens per minute."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from calls.quota import Quota

_MIN_INTERVAL_S = 0.003
"""The least seconds between two starts; LiteLLM takes longer to prepare a request."""

_SPREAD = 0.75
"""The share of a reply's duration over which starts are spread. Requests that start together also
end together, and the server is idle in between. Spreading costs no throughput: it applies only
while all slots are taken."""


class ConcurrencySlots:
    """An adaptive limit of the requests in flight (additive increase, multiplicative decrease).

    Used on one event loop. A busy server halves the number of slots; as many successes as there
    are slots add one, up to the maximum.
    """

    def __init__(self, most: int) -> None:
        self._most = float(most)
        self._open = float(most)
        self._taken = 0
        self._cuts = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._resume_at = 0.0

    @property
    def open(self) -> int:
        """The number of slots now."""
        return int(self._open)

    @property
    def is_full(self) -> bool:
        """Whether requests are waiting for a slot."""
        return bool(self._waiting)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[int]:
        """Hold a slot during one request; yield the value that `slow_down` needs."""
        await self._enter()
        try:
            yield self._cuts
        finally:
            self._taken -= 1
            self._admit()

    def slow_down(self, cuts: int, pause_s: float | None) -> None:
        """Halve the number of slots, and start no request during a pause.

        Args:
            cuts: The value of `slot`. Requests from before the last halving do not halve again.
            pause_s: The server's `Retry-After` in seconds, if it sent one.
        """
        if cuts == self._cuts:
            self._cuts += 1
            self._open = max(1.0, self._open / 2)
        if pause_s is not None:
            self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + pause_s)

    def record_success(self) -> None:
        """Add a fraction of a slot after a success."""
        self._open = min(self._most, self._open + 1 / self._open)
        self._admit()

    async def _enter(self) -> None:
        loop = asyncio.get_running_loop()
        if self._taken >= self.open or self._waiting:
            turn = loop.create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._leave(turn)
                raise
        else:
            self._taken += 1
        try:
            while (pause := self._resume_at - loop.time()) > 0:  # noqa: ASYNC110 - may be put off
                await asyncio.sleep(pause)
        except asyncio.CancelledError:
            self._taken -= 1
            raise

    def _leave(self, turn: asyncio.Future[None]) -> None:
        if turn in self._waiting:
            self._waiting.remove(turn)
        elif turn.done() and not turn.cancelled():
            self._taken -= 1
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._taken < self.open:
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)


class MinuteRate:
    """A limit of units per minute over all processes, spread evenly over the minute."""

    def __init__(self, quota: Quota, name: str, per_minute: int | None) -> None:
        self._quota = quota
        self._name = name
        self._per_minute = per_minute
        self._order = asyncio.Lock()

    async def take(self, amount: int) -> None:
        """Wait until the units may be used, in this process in order of arrival."""
        if self._per_minute is None:
            return
        async with self._order:
            while True:
                wait_s = await self._quota.start(self._name, self._per_minute, amount)
                if not wait_s:
                    return
                await asyncio.sleep(wait_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLimits:
    """The limits of the calls to one model or system.

    Attributes:
        where: The model and its address, or the system, whose rates all processes share.
        concurrency: The most calls in flight.
        requests_per_minute: The most requests per minute; None for no limit.
        tokens_per_minute: The most tokens per minute, of messages and replies; None for no limit.
        max_tokens: The most tokens of a reply.
        spreads_starts: Whether starts are spread over the time of a reply; see `_SPREAD`.
        budget_usd: The most US dollars of a run; None for no limit.
        daily_budget_usd: The most US dollars of all runs in 24 hours; None for no limit.
        attempts: The most attempts of a request.
        first_pause_s: The wait after the first failure, in seconds; it doubles with each failure,
            and a random part of it is added. A failure with `retry_after` sets the wait itself.
        most_pause_s: The longest wait without the random part.
        patience_s: The longest accepted `Retry-After`, in seconds.
    """

    where: str
    concurrency: int
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_tokens: int = 0
    spreads_starts: bool = False
    budget_usd: float | None = None
    daily_budget_usd: float | None = None
    attempts: int
    first_pause_s: float
    most_pause_s: float
    patience_s: float = 300.0


class RateLimiter:
    """Keeps the calls to a model or system within limits.

    Attributes:
        counts_tokens: Whether `wait_to_start` needs the number of tokens.
    """

    def __init__(self, limits: CallLimits, quota: Quota) -> None:
        self.slots = ConcurrencySlots(limits.concurrency)
        where = limits.where
        self._requests = MinuteRate(quota, f"requests to {where}", limits.requests_per_minute)
        self._tokens = MinuteRate(quota, f"tokens to {where}", limits.tokens_per_minute)
        self.counts_tokens = limits.tokens_per_minute is not None
        self._spreads_starts = limits.spreads_starts
        self._expected_tokens = float(limits.max_tokens)
        self._expected_s = 0.0
        self._last_start = 0.0

    async def wait_to_start(self, tokens_in: int) -> None:
        """Wait until a request with this many input tokens may start."""
        await self._requests.take(1)
        if self.counts_tokens:
            await self._tokens.take(tokens_in + round(self._expected_tokens))
        if not self._spreads_starts:
            return
        interval = _MIN_INTERVAL_S
        if self.slots.is_full:
            interval = max(interval, _SPREAD * self._expected_s / self.slots.open)
        now = asyncio.get_running_loop().time()
        self._last_start = max(now, self._last_start + interval)
        if self._last_start > now:
            await asyncio.sleep(self._last_start - now)

    def record_reply(self, tokens_out: int | None, took_s: float) -> None:
        """Update the expected length of replies, in tokens and in seconds."""
        is_first = self._expected_s == 0.0
        self._expected_s += (took_s - self._expected_s) * (1.0 if is_first else 1 / 8)
        if tokens_out is not None:
            self._expected_tokens += (tokens_out - self._expected_tokens) / 8
