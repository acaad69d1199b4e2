"""Pace: how many requests are under way, and how many requests and tokens go out in a minute."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiolimiter import AsyncLimiter

    from evaluators.engines.judge.settings import JudgeSettings

_SECONDS = 60.0

_APART_S = 0.003
"""The least time between two starts; LiteLLM takes more than this to make a request."""

_SPREAD = 0.75
"""Starts are spread over this share of the time that an answer takes. Requests that start together
take turns on the loop, end together and start together again, and meanwhile the server has nothing
to do. More could not be started than this allows, as all lanes are taken."""


class ConcurrencySlots:
    """How many requests may be under way: fewer when the server is too busy, slowly more again.

    Used on one event loop. A busy server halves the number; as many successes as there are lanes
    open one more, up to the number given.
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
        """How many requests may be under way now."""
        return int(self._open)

    @property
    def crowded(self) -> bool:
        """Whether there are more requests than lanes."""
        return bool(self._waiting)

    @asynccontextmanager
    async def lane(self) -> AsyncIterator[int]:
        """Take a lane while one request is under way; gives what `busy` wants to know."""
        await self._enter()
        try:
            yield self._cuts
        finally:
            self._taken -= 1
            self._admit()

    def busy(self, cuts: int, pause_s: float | None) -> None:
        """Halve the lanes, and let nobody start before a pause is over.

        Args:
            cuts: What `lane` gave: requests sent before the last halving say nothing new.
            pause_s: Seconds that the server asks to wait; None when it does not say.
        """
        if cuts == self._cuts:
            self._cuts += 1
            self._open = max(1.0, self._open / 2)
        if pause_s is not None:
            self._resume_at = max(self._resume_at, asyncio.get_running_loop().time() + pause_s)

    def answered(self) -> None:
        """Open a part of a lane."""
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
    """So many units a minute, spread evenly: bursts of at most a second's worth."""

    def __init__(self, per_minute: int | None) -> None:
        self._per_minute = per_minute
        self._burst = max(1.0, (per_minute or 0) / _SECONDS)
        self._limiter: AsyncLimiter | None = None
        self._order = asyncio.Lock()

    async def take(self, amount: int) -> None:
        """Wait until so many units may be used; first come, first served."""
        if self._per_minute is None:
            return
        from aiolimiter import AsyncLimiter

        if self._limiter is None:
            period = _SECONDS * self._burst / self._per_minute
            self._limiter = AsyncLimiter(self._burst, period)
        async with self._order:
            left = float(amount)
            while left > 0:
                part = min(left, self._burst)
                await self._limiter.acquire(part)
                left -= part


class RateLimiter:
    """What keeps a judge within the limits of its settings."""

    def __init__(self, settings: JudgeSettings) -> None:
        self.lanes = ConcurrencySlots(settings.concurrency)
        self._requests = MinuteRate(settings.requests_per_minute)
        self._tokens = MinuteRate(settings.tokens_per_minute)
        self._counted = settings.tokens_per_minute is not None
        self._usual_reply = float(settings.max_tokens)
        self._usual_s = 0.0
        self._last_start = 0.0

    @property
    def counts_tokens(self) -> bool:
        """Whether `start` has to know the tokens of the messages."""
        return self._counted

    async def start(self, tokens_in: int) -> None:
        """Wait until a request with so many tokens of messages may go out."""
        await self._requests.take(1)
        if self._counted:
            await self._tokens.take(tokens_in + round(self._usual_reply))
        apart = _APART_S
        if self.lanes.crowded:
            apart = max(apart, _SPREAD * self._usual_s / self.lanes.open)
        now = asyncio.get_running_loop().time()
        self._last_start = max(now, self._last_start + apart)
        if self._last_start > now:
            await asyncio.sleep(self._last_start - now)

    def replied(self, tokens_out: int | None, took_s: float) -> None:
        """Learn how long replies are, in tokens and in seconds."""
        first = self._usual_s == 0.0
        self._usual_s += (took_s - self._usual_s) * (1.0 if first else 1 / 8)
        if tokens_out is not None:
            self._usual_reply += (tokens_out - self._usual_reply) / 8
