"""The asker of one system: requests to it as a kind of call, and how answers are stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from calls.budget import Claim, Granted, OverBudget
from calls.call import CallStatus, Outcome
from calls.claims import EndsBilled
from calls.errors import CallFailure, TransientFailure
from calls.rate_limit import CallLimits
from calls.sender import CallKind, Sender
from calls.usage import MAX_REASON, Bill, CallUsage
from systems.client import Answer, Request, SystemRefused, WrongShape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from calls.call import Call
    from calls.quota import Quota
    from systems.client import SystemClient
    from systems.settings import SystemSettings

FIRST_PAUSE_S: Final = 1.0
"""The wait after the first failure, in seconds; it doubles with each failure."""

MAX_PAUSE_S: Final = 30.0

PATIENCE_S: Final = 300.0
"""The longest accepted `Retry-After`, in seconds."""

_UNKNOWN_USD: Final = 1e-6
"""What a call sets aside before any cost is known: a budget that is spent must not allow it."""


class SystemKind(CallKind["tuple[Request, int]", Answer]):
    """The calls of one system: each is a request and the number of the answer to it."""

    refusals = (SystemRefused,)

    def __init__(
        self,
        settings: SystemSettings,
        client: SystemClient,
        check_fields: Callable[[Mapping[str, Any]], str | None],
    ) -> None:
        self._timeout_s = settings.timeout_s
        self._has_budget = (settings.budget_usd, settings.daily_budget_usd) != (None, None)
        self._client = client
        self._check_fields = check_fields
        self._highest_usd: float | None = None

    def note_cost(self, usd: object) -> None:
        """Learn from an answer what one may cost."""
        if isinstance(usd, int | float):
            self._highest_usd = max(self._highest_usd or 0.0, float(usd))

    def claim(self, request: tuple[Request, int]) -> Claim:
        """Return what a call sets aside: its highest possible cost, or the highest one so far."""
        most = self._most_usd(request)
        known = _UNKNOWN_USD if self._highest_usd is None else self._highest_usd
        usd = known if most is None else most
        return Claim(tokens_usd=0.0, least=usd, enough=usd, most=usd)

    async def send(self, request: tuple[Request, int], granted: Granted) -> Answer:  # noqa: ARG002
        """Send a request once; check the fields of the answer."""
        try:
            answer = await self._client.ask(*request)
        except TimeoutError:
            limit = self._timeout_s
            raise TransientFailure(f"timeout: no answer within {limit:g} s", billed=True) from None
        fault = self._check_fields(answer.fields)
        if fault is not None:
            raise WrongShape(fault)
        return answer

    def bill(self, request: tuple[Request, int], answer: Answer) -> Bill:
        """Return the cost that the system says.

        An unknown one counts as the highest possible cost, or else as the highest one so far.
        """
        cost = answer.fields.get("cost_usd")
        self.note_cost(cost)
        usd = settled = float(cost) if isinstance(cost, int | float) else None
        if usd is None and self._most_usd(request) is None:
            settled = self._highest_usd or 0.0
        return Bill(answer.tokens_in, answer.tokens_out, usd, settled)

    def is_billed(self, refusal: Exception) -> bool:
        """Return whether a part of a request that was refused may be billed."""
        return isinstance(refusal, SystemRefused) and refusal.billed

    def is_uncounted(self, request: tuple[Request, int]) -> bool:
        """Return whether nothing tells what an answer has cost, although there is a budget."""
        is_unknown = self._highest_usd is None and self._most_usd(request) is None
        return self._has_budget and is_unknown

    def _most_usd(self, request: tuple[Request, int]) -> float | None:
        return self._client.most_usd(request[0]) if self._has_budget else None


class SystemAsker:
    """Asks one system; used on one event loop."""

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
        self._name = f"the system {settings.name!r}"
        self._kind = SystemKind(settings, client, check_fields)
        limits = CallLimits(
            where=f"system {settings.name}",
            concurrency=settings.concurrency,
            requests_per_minute=settings.requests_per_minute,
            budget_usd=settings.budget_usd,
            daily_budget_usd=settings.daily_budget_usd,
            attempts=1 + settings.retries,
            first_pause_s=FIRST_PAUSE_S,
            most_pause_s=MAX_PAUSE_S,
            patience_s=PATIENCE_S,
        )
        self._sender = Sender(self._kind, limits, quota)

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
            EndsBilled: The answer ends the run.
        """
        usage = CallUsage()

        def failed(reply: str | None, error: str) -> Outcome:
            return usage.outcome(call, CallStatus.TARGET_ERROR, reply, error, usage.last_s)

        try:
            answer = await self._sender.send((request, call.replicate), usage)
        except OverBudget:
            raise
        except TransientFailure as failure:
            return failed(None, str(failure))
        except CallFailure as failure:
            reason = str(failure)[:MAX_REASON]
            if first and isinstance(failure, WrongShape):
                fault = f"the first answer of {self._name}: {failure}"
                raise EndsBilled(failed(None, reason), SystemRefused(fault)) from None
            return failed(json.dumps({"error": reason}), reason)
        if self._kind.is_uncounted((request, call.replicate)):
            refusal = SystemRefused(
                f"the budget of {self._name} cannot be kept: its answers have no `cost_usd`; "
                "return it, or remove the budget"
            )
            raise EndsBilled(failed(None, "the answer has no `cost_usd`"), refusal)
        took_s = usage.last_s if answer.seconds is None else answer.seconds
        latency_s = answer.fields.get("latency_s", took_s)
        reply = _reply_of(answer, took_s)
        return usage.outcome(call, CallStatus.SCORED, reply, latency_s=latency_s)

    def note_cost(self, reply: str) -> None:
        """Learn from a stored answer what one may cost, if there is a budget."""
        if self._sender.has_budget:
            self._kind.note_cost(json.loads(reply).get("cost_usd"))


def _reply_of(answer: Answer, latency_s: float) -> str:
    """Return the fields of a prediction, and what else is known of the answer, as JSON."""
    measured = {"first_token_s": answer.first_token_s, "served_by": answer.served_by}
    known = {name: value for name, value in measured.items() if value is not None}
    return json.dumps({"latency_s": latency_s, **answer.fields, **known}, ensure_ascii=False)
