"""Sends the requests of paid calls within rates and budgets, and again where that may help.

A kind of call says how a request is sent once, what it may cost and what its answer has cost.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from calls.budget import Budget, Claim, Granted, OverBudget
from calls.errors import CallFailure, TransientFailure
from calls.rate_limit import RateLimiter

if TYPE_CHECKING:
    import tenacity

    from calls.quota import Quota
    from calls.rate_limit import CallLimits
    from calls.usage import Bill, CallUsage

RequestT = TypeVar("RequestT")
AnswerT = TypeVar("AnswerT")


class CallKind(ABC, Generic[RequestT, AnswerT]):
    """What is particular to one kind of call.

    Attributes:
        refusals: The exceptions of `send` after which no request can succeed.
    """

    refusals: tuple[type[Exception], ...] = ()

    @abstractmethod
    def claim(self, request: RequestT) -> Claim:
        """Return what a request may set aside, as far as is known by now."""

    @abstractmethod
    async def send(self, request: RequestT, granted: Granted) -> AnswerT:
        """Send a request once, within what it has set aside.

        Raises:
            CallFailure: There is no answer.
        """

    @abstractmethod
    def bill(self, request: RequestT, answer: AnswerT) -> Bill:
        """Return what an answer has cost, and learn from it what the next one may cost."""

    def tokens(self, request: RequestT) -> int:  # noqa: ARG002 - for kinds that count
        """Return the input tokens of a request, for limits of tokens per minute."""
        return 0

    def is_worth_another(self, failure: TransientFailure, attempts: int) -> bool:  # noqa: ARG002
        """Return whether another attempt may succeed, after this many."""
        return True

    def is_lost(self, failure: TransientFailure) -> bool:  # noqa: ARG002
        """Return whether a failure counts towards those after which nothing more is sent."""
        return True

    def is_billed(self, refusal: Exception) -> bool:  # noqa: ARG002 - for requests of several parts
        """Return whether a part of a request that was refused may be billed."""
        return False


class GivenUp(TransientFailure):
    """Nothing was sent, since too many calls before got no answer."""


class Sender(Generic[RequestT, AnswerT]):
    """Sends the requests to one model or system; used on one event loop.

    Attributes:
        counts_tokens: Whether requests need their number of tokens.
        failed_in_a_row: The calls in a row that got no answer.
    """

    def __init__(self, kind: CallKind[RequestT, AnswerT], limits: CallLimits, quota: Quota) -> None:
        """Set the sender up.

        Args:
            kind: The kind of call.
            limits: Its rates, budgets and retries.
            quota: Counts money and calls of all processes.
        """
        self._kind = kind
        self._limits = limits
        self._limiter = RateLimiter(limits, quota)
        self._budget = Budget(quota, limits.budget_usd, limits.daily_budget_usd)
        self._refusal: Exception | None = None
        self.counts_tokens = self._budget.limited or self._limiter.counts_tokens
        self.failed_in_a_row = 0

    @property
    def has_budget(self) -> bool:
        """Whether there is a budget."""
        return self._budget.limited

    @property
    def refused_usd(self) -> float | None:
        """The least that a call refused by the budget would have set aside; None without one."""
        return self._budget.refused_usd

    @property
    def has_lost_too_many(self) -> bool:
        """Whether more calls in a row got no answer than are in flight at once."""
        return self.failed_in_a_row > self._limits.concurrency

    def refuse(self, refusal: Exception) -> None:
        """Send nothing more; later requests raise this exception."""
        self._refusal = refusal

    def is_too_long(self, failure: CallFailure) -> bool:
        """Return whether the server asks to wait longer than is accepted."""
        wait_s = failure.retry_after if isinstance(failure, TransientFailure) else None
        return wait_s is not None and wait_s > self._limits.patience_s

    async def send(self, request: RequestT, usage: CallUsage) -> AnswerT:
        """Send a request until there is an answer or a failure that another would not mend.

        Args:
            request: The request.
            usage: Counts attempts, tokens and cost.

        Raises:
            CallFailure: The last failure.
            OverBudget: The budgets do not allow it.
        """
        try:
            answer: AnswerT = await self._retries()(self._send_once, request, usage)
        except OverBudget:
            raise
        except TransientFailure as failure:
            self.failed_in_a_row += self._kind.is_lost(failure)
            raise
        except CallFailure:
            self.failed_in_a_row = 0
            raise
        self.failed_in_a_row = 0
        return answer

    async def _send_once(self, request: RequestT, usage: CallUsage) -> AnswerT:
        slots, kind = self._limiter.slots, self._kind
        async with slots.slot() as cuts:
            if self.has_lost_too_many:
                raise GivenUp(f"not asked: {self.failed_in_a_row} questions before got no answer")
            async with self._budget.spend(lambda: kind.claim(request)) as spending:
                await self._limiter.wait_to_start(kind.tokens(request))
                if self._refusal is not None:
                    raise self._refusal
                usage.attempts += 1
                started = time.monotonic()
                spending.may_be_billed()  # also where it is cancelled
                try:
                    answer = await kind.send(request, spending.granted)
                except CallFailure as failure:
                    if not failure.billed:
                        spending.usd = 0.0
                    if isinstance(failure, TransientFailure) and failure.busy:
                        pause = None if self.is_too_long(failure) else failure.retry_after
                        slots.slow_down(cuts, pause)
                    raise
                except kind.refusals as refusal:
                    if not kind.is_billed(refusal):
                        spending.usd = 0.0
                    self.refuse(refusal)
                    raise
                finally:
                    usage.last_s = time.monotonic() - started
                bill = kind.bill(request, answer)
                usage.add(bill)
                if bill.settled_usd is not None:
                    spending.usd = bill.settled_usd
        slots.record_success()
        self._limiter.record_reply(bill.tokens_out, usage.last_s)
        return answer

    def _retries(self) -> tenacity.AsyncRetrying:
        """Return what repeats a request after pauses that grow, or as long as the server asks."""
        import tenacity

        limits = self._limits
        growing = tenacity.wait_exponential(limits.first_pause_s, limits.most_pause_s)
        waits = growing + tenacity.wait_random(0, limits.first_pause_s)

        def failure_of(state: tenacity.RetryCallState) -> BaseException | None:
            return None if state.outcome is None else state.outcome.exception()

        def wait(state: tenacity.RetryCallState) -> float:
            requested: float | None = getattr(failure_of(state), "retry_after", None)
            return waits(state) if requested is None else requested

        def retry(state: tenacity.RetryCallState) -> bool:
            failure = failure_of(state)
            if not isinstance(failure, TransientFailure) or isinstance(failure, GivenUp):
                return False
            if self.is_too_long(failure):
                return False
            return self._kind.is_worth_another(failure, state.attempt_number)

        stop = tenacity.stop_after_attempt(limits.attempts)
        return tenacity.AsyncRetrying(stop=stop, retry=retry, wait=wait, reraise=True)
