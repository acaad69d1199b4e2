"""The hard budget of a run: what each call sets aside, and what it has cost."""

from __future__ import annotations

import asyncio
import json
import math
from collections import defaultdict, deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from calls.errors import CallFailure
from calls.prices import REPLY_TOKENS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from calls.prices import Prices
    from calls.quota import Quota

OVER_BUDGET = "budget: "
"""The beginning of the reason of a call that the budget did not allow."""

_CENTS_FROM = 0.1

_COUNT_MARGIN = 1.25
"""Messages may have a quarter more tokens than counted."""

_QUANTILE = 0.9
_RECENT = 200
_SLACK = 4
"""A call that cannot have its highest possible cost sets aside this many long replies."""

_POLL_S = 0.5
"""The seconds after which a call looks again for room that another process has made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReport:
    """What a run has done with its budget, in US dollars.

    Attributes:
        total_usd: The budget.
        spent_usd: The cost so far, including broken-off calls that may be billed.
        refused_usd: What the cheapest refused call would have set aside; None if none was refused.
    """

    total_usd: float
    spent_usd: float
    refused_usd: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a call may set aside, in US dollars.

    Attributes:
        tokens_usd: The cost of the messages.
        least: The cost with a reply of the usual length: with less, the call is not made.
        enough: The cost with a reply that is several times longer.
        most: The highest possible cost.
    """

    tokens_usd: float
    least: float
    enough: float
    most: float


class Granted(NamedTuple):
    """What a call has set aside.

    Attributes:
        claim: What it asked for.
        reservation: The reservation; None without a budget.
        usd: The amount in US dollars.
    """

    claim: Claim
    reservation: str | None
    usd: float


@dataclass(slots=True)
class Spending:
    """A call that is being made.

    Attributes:
        granted: What it has set aside.
        usd: What it has cost so far, in US dollars.
    """

    granted: Granted
    usd: float = 0.0

    def may_be_billed(self) -> None:
        """Count all that is set aside as spent, until more is known."""
        self.usd = self.granted.usd


class OverBudget(CallFailure):
    """The budgets do not allow a call, so it was not made."""


class UsageHistory:
    """The usage of recent calls by the schema of their replies, to estimate the next ones."""

    def __init__(self) -> None:
        self._replies: defaultdict[str, deque[int]] = defaultdict(_recent)
        self._ratios: defaultdict[str, deque[float]] = defaultdict(_recent)

    def record(
        self, schema: Mapping[str, Any], counted: int, tokens_in: int | None, tokens_out: int | None
    ) -> None:
        """Record the usage of a call.

        Args:
            schema: The schema of the reply.
            counted: The counted tokens of the messages.
            tokens_in: Their number according to the provider; None if not reported.
            tokens_out: The tokens of the reply; None if not reported.
        """
        key = _key(schema)
        if tokens_out is not None:
            self._replies[key].append(tokens_out)
        if tokens_in is not None and counted:
            self._ratios[key].append(tokens_in / counted)

    def claim(
        self,
        prices: Prices,
        schema: Mapping[str, Any],
        counted: int,
        max_tokens: int,
        longer_than: int = 0,
    ) -> Claim:
        """Return what a call may set aside; 0 if no price is known.

        Counted tokens are corrected by the highest ratio to reported tokens, because not every
        tokenizer is available. A usual reply is the 90 % quantile of those seen.

        Args:
            prices: The prices of the model.
            schema: The schema of the reply.
            counted: The counted tokens of the messages.
            max_tokens: The most tokens of the reply.
            longer_than: A length in tokens at which this reply was cut before.
        """
        key = _key(schema)
        tokens_in = math.ceil(counted * _COUNT_MARGIN * max(self._ratios[key], default=1.0))
        seen = sorted(self._replies[key])
        usual = seen[math.ceil(_QUANTILE * len(seen)) - 1] if seen else None
        least = max(2 * longer_than, REPLY_TOKENS if usual is None else usual)
        enough = max_tokens if usual is None else max(_SLACK * usual, least)
        costs = [
            prices.most_usd(tokens_in, min(tokens_out, max_tokens)) or 0.0
            for tokens_out in (0, least, enough, max_tokens)
        ]
        return Claim(tokens_usd=costs[0], least=costs[1], enough=costs[2], most=costs[3])


class Budget:
    """The hard budgets of a run, in US dollars; used on one event loop.

    Before it is sent, a call sets aside an amount that it cannot exceed. Where that is less than
    its highest possible cost, the caller limits the length of the reply accordingly. So the cost of
    all calls never exceeds the budgets, however many are in flight in however many processes.

    Attributes:
        limited: Whether there is a limit.
        refused_usd: The least that a refused call would have set aside; None if none was refused.
    """

    def __init__(
        self, quota: Quota, run_usd: float | None = None, day_usd: float | None = None
    ) -> None:
        """Set the limits of the run and of 24 hours, None for no limit."""
        self._quota = quota
        self._limits = {"run_usd": run_usd, "day_usd": day_usd}
        self.limited = run_usd is not None or day_usd is not None
        self.refused_usd: float | None = None
        self._released = asyncio.Event()

    @asynccontextmanager
    async def spend(self, estimate: Callable[[], Claim]) -> AsyncIterator[Spending]:
        """Set aside the cost of a call while it is made; settle at the end what was spent.

        Args:
            estimate: Returns what the call may set aside, as far as is known by then.

        Raises:
            OverBudget: The budgets do not allow the call.
        """
        granted = await self.reserve(estimate)
        if granted is None:
            raise OverBudget(over_budget_reason(**self._limits))
        spending = Spending(granted)
        try:
            yield spending
        finally:
            self.settle(granted, spending.usd)

    async def reserve(self, estimate: Callable[[], Claim]) -> Granted | None:
        """Set aside the cost of a call; wait for calls in flight if only that can make room.

        Args:
            estimate: Returns what the call may set aside, as far as is known by then.

        Returns:
            What was set aside; None if the budgets do not allow the call.
        """
        while True:
            claim = estimate()
            if not self.limited:
                return Granted(claim, None, claim.most)
            self._released.clear()
            reserved = await self._quota.reserve(
                **self._limits, least=claim.least, enough=claim.enough, most=claim.most
            )
            if not isinstance(reserved, bool):
                return Granted(claim, *reserved)
            if not reserved:
                self.refused_usd = min(self.refused_usd or math.inf, claim.least)
                return None
            with suppress(TimeoutError):
                async with asyncio.timeout(_POLL_S):
                    await self._released.wait()

    def settle(self, granted: Granted, spent: float) -> None:
        """Replace an amount set aside by the real cost."""
        self._quota.settle(granted.reservation, spent)
        self._released.set()


def over_budget_reason(run_usd: float | None, day_usd: float | None = None) -> str:
    """Return the reason of a call that the budgets did not allow; equal for all calls of a run."""
    budgets = []
    if run_usd is not None:
        budgets.append(f"{format_usd(run_usd)} US dollars")
    if day_usd is not None:
        budgets.append(f"{format_usd(day_usd)} US dollars for 24 hours")
    return (
        f"{OVER_BUDGET}not asked, because the budget of {' or '.join(budgets)} was reached: run "
        "again to go on"
    )


def format_usd(amount: float) -> str:
    """Format US dollars: with cents, and amounts below 0.10 with two significant digits."""
    if amount == 0 or amount >= _CENTS_FROM:
        return f"{amount:,.2f}"
    return f"{Decimal(f'{amount:.2g}'):f}"


def reply_limit(prices: Prices, granted: Granted, max_tokens: int) -> int:
    """Return the most tokens of a reply that the amount set aside pays for."""
    claim = granted.claim
    if granted.usd >= claim.most or not prices.tokens_out:
        return max_tokens
    return min(max_tokens, int((granted.usd - claim.tokens_usd) / prices.tokens_out))


def _recent() -> deque[Any]:
    return deque(maxlen=_RECENT)


def _key(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, sort_keys=True)
