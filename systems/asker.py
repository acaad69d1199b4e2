"""The asker of one system: time-outs, retries, rates and the budget around its client."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from calls.budget import Budget, Claim
from calls.call import CallStatus, Outcome
from calls.claims import OutcomeEndsRun
from calls.rate_limit import ConcurrencySlots, MinuteRate
from calls.retry import retrying
from systems.client import (
    SystemFailure,
    SystemRefused,
    TransportFailure,
    WrongShape,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from calls.call import Call
    from calls.quota import Quota
    from systems.client import Answer, Request, SystemClient
    from systems.settings import SystemSettings

FIRST_PAUSE_S: Final = 1.0
"""The wait after the first failure, in seconds; it doubles with each failure."""

MAX_PAUSE_S: Final = 30.0

PATIENCE_S: Final = 300.0
"""The longest accepted `Retry-After`, in seconds."""

_MAX_REASON: Final = 300

_UNKNOWN_USD: Final = 1e-6
"""What a call sets aside before any cost is known: a budget that is spent must not allow it."""


class FirstAnswerUnusable(SystemRefused, OutcomeEndsRun):
    """The first answer of a system ends the run."""

    def __init__(self, fault: str, outcome: Outcome) -> None:
        super().__init__(fault)
        self.outcome = outcome


class _GivenUp(TransportFailure):
    """The system was not asked, since it gave no answer to many questions before."""


@dataclass(slots=True)
class _Usage:
    attempts: int = 0
    latency_s: float = 0.0


class SystemAsker:
    """Asks one system; used on one event loop.

    Attributes:
        refused_usd: The least that a call refused by the budget would have set aside; None without
            one.
    """

    def __init__(
        self,
        settings: SystemSettings,
        client: SystemClient,
        quota: Quota,
        check_fields: Callable[[Mapping[str, Any]], str | None],
    ) -> None:
        """Set the asker up.

        Args:
            settings: The system.
            client: Its client, which is open.
            quota: Counts money and calls of all processes.
            check_fields: Returns what is wrong with the fields of a prediction; None if nothing is.
        """
        self._settings = settings
        self._client = client
        self._check_fields = check_fields
        self._slots = ConcurrencySlots(settings.concurrency)
        name = f"requests to system {settings.name}"
        self._rate = MinuteRate(quota, name, settings.requests_per_minute)
        self._budget = Budget(quota, settings.budget_usd, settings.daily_budget_usd)
        self._highest_usd: float | None = None
        self._failed_in_a_row = 0
        self._refused: SystemRefused | None = None

    async def ask(self, request: Request, call: Call, *, first: bool = False) -> Outcome:
        """Call until there is an answer or a failure that another call would not mend.

        Args:
            request: The request.
            call: Its identity in the ledger.
            first: Whether nothing is known yet of the answers of this system; a wrong shape then
                ends the run.

        Returns:
            The outcome: `scored` with the fields of a prediction as JSON; `target_error` with
            `{"error": ...}` for an error of the system, and without a reply for a failed transport,
            which the next run tries again.

        Raises:
            OverBudget: The budget does not allow the call.
            SystemRefused: No call can succeed.
            FirstAnswerUnusable: The first answer ends the run; it has a judgment, since it may be
                billed.
        """
        usage = _Usage()
        try:
            answer = await self._send(request, call.replicate, usage)
        except TransportFailure as failure:
            self._failed_in_a_row += 1
            return self._judgment(call, usage, None, str(failure))
        except SystemFailure as failure:
            self._failed_in_a_row = 0
            reason = str(failure)[:_MAX_REASON]
            if first and isinstance(failure, WrongShape):
                fault = f"the first answer of {self._name}: {failure}"
                raise FirstAnswerUnusable(
                    fault, self._judgment(call, usage, None, reason)
                ) from None
            return self._judgment(call, usage, json.dumps({"error": reason}), reason)
        self._failed_in_a_row = 0
        if first:
            self._require_cost(call, usage, answer)
        return self._judgment(call, usage, _reply_of(answer, usage.latency_s), None, answer)

    def note_cost(self, reply: str) -> None:
        """Learn from a stored answer what one may cost, if there is a budget."""
        if self._budget.limited:
            self._note_cost(json.loads(reply).get("cost_usd"))

    def _note_cost(self, usd: object) -> None:
        if isinstance(usd, int | float):
            self._highest_usd = max(self._highest_usd or 0.0, float(usd))

    @property
    def _name(self) -> str:
        return f"the system {self._settings.name!r}"

    async def _send(self, request: Request, repeat: int, usage: _Usage) -> Answer:
        retries = retrying(
            attempts=1 + self._settings.retries,
            first_pause_s=FIRST_PAUSE_S,
            most_pause_s=MAX_PAUSE_S,
            is_worth_it=_is_worth_another,
        )
        return await retries(self._send_once, request, repeat, usage)

    async def _send_once(self, request: Request, repeat: int, usage: _Usage) -> Answer:
        """Send a request once, within rate and budget; check the fields of the answer."""
        async with self._slots.slot() as cuts:
            if self._failed_in_a_row > self._settings.concurrency:
                raise _GivenUp(f"not asked: {self._failed_in_a_row} questions before got no answer")
            async with self._budget.spend(lambda: self._claim(request)) as spending:
                await self._rate.take(1)
                if self._refused is not None:
                    raise self._refused
                usage.attempts += 1
                started = time.monotonic()
                spending.may_be_billed()  # also where it is cancelled
                try:
                    answer = await self._call(request, repeat)
                except SystemFailure as failure:
                    if not failure.billed:
                        spending.usd = 0.0
                    if isinstance(failure, TransportFailure) and failure.busy:
                        wait_s = failure.retry_after
                        is_long = wait_s is not None and wait_s > PATIENCE_S
                        self._slots.slow_down(cuts, None if is_long else wait_s)
                    raise
                except SystemRefused as refusal:
                    spending.usd, self._refused = 0.0, refusal
                    raise
                finally:
                    usage.latency_s = time.monotonic() - started
                cost = answer.fields.get("cost_usd")
                self._note_cost(cost)
                # An unknown cost is not 0.
                spending.usd = (
                    float(cost) if isinstance(cost, int | float) else self._highest_usd or 0.0
                )
        self._slots.record_success()
        if answer.seconds is not None:
            usage.latency_s = answer.seconds
        return answer

    async def _call(self, request: Request, repeat: int) -> Answer:
        try:
            answer = await self._client.ask(request, repeat)
        except TimeoutError:
            limit = self._settings.timeout_s
            raise TransportFailure(f"timeout: no answer within {limit:g} s", billed=True) from None
        fault = self._check_fields(answer.fields)
        if fault is not None:
            raise WrongShape(fault)
        return answer

    def _claim(self, request: Request) -> Claim:
        """Return what a call sets aside: its highest possible cost, or the highest one so far."""
        most = self._client.most_usd(request) if self._budget.limited else None
        known = _UNKNOWN_USD if self._highest_usd is None else self._highest_usd
        usd = known if most is None else most
        return Claim(tokens_usd=0.0, least=usd, enough=usd, most=usd)

    def _require_cost(self, call: Call, usage: _Usage, answer: Answer) -> None:
        """Refuse a budget that nothing counts against."""
        if self._budget.limited and answer.fields.get("cost_usd") is None:
            raise FirstAnswerUnusable(
                f"the budget of {self._name} cannot be kept: its answers have no `cost_usd`; "
                "return it, or remove the budget",
                self._judgment(call, usage, None, "the answer has no `cost_usd`"),
            )

    def _judgment(
        self,
        call: Call,
        usage: _Usage,
        reply: str | None,
        error: str | None,
        answer: Answer | None = None,
    ) -> Outcome:
        fields: Mapping[str, Any] = {} if answer is None else answer.fields
        return Outcome(
            call=call,
            reply=reply,
            status=CallStatus.TARGET_ERROR if answer is None else CallStatus.SCORED,
            error=None if error is None else error[:_MAX_REASON],
            attempts=usage.attempts,
            tokens_in=None if answer is None else answer.tokens_in,
            tokens_out=None if answer is None else answer.tokens_out,
            cost_usd=fields.get("cost_usd"),
            latency_s=fields.get("latency_s", usage.latency_s),
            judged_at=datetime.now(UTC).replace(tzinfo=None),
        )


def _is_worth_another(failure: BaseException, attempts: int) -> bool:  # noqa: ARG001
    """Return whether another attempt may succeed."""
    if not isinstance(failure, TransportFailure) or isinstance(failure, _GivenUp):
        return False
    return failure.retry_after is None or failure.retry_after <= PATIENCE_S


def _reply_of(answer: Answer, latency_s: float) -> str:
    """Return the fields of a prediction, and what else is known of the answer, as JSON."""
    measured = {"first_token_s": answer.first_token_s, "served_by": answer.served_by}
    known = {name: value for name, value in measured.items() if value is not None}
    return json.dumps({"latency_s": latency_s, **answer.fields, **known}, ensure_ascii=False)
