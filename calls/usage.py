"""What the attempts of one call have used, and the outcome that is stored."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from calls.call import Outcome

if TYPE_CHECKING:
    from calls.call import Call, CallStatus

MAX_REASON = 300
"""The most characters of a reason that is stored."""


class Bill(NamedTuple):
    """What one answer has cost.

    Attributes:
        tokens_in: The input tokens; None if unknown.
        tokens_out: The output tokens; None if unknown.
        usd: The cost in US dollars; None if unknown.
        settled_usd: What counts against the budget; None: all that was set aside.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None
    settled_usd: float | None = None


@dataclass(slots=True)
class CallUsage:
    """Attempts, tokens and cost of a call; unknown if one answer does not report them.

    Attributes:
        attempts: The requests sent.
        tokens_in: The input tokens of all answers.
        tokens_out: The output tokens of all answers.
        cost_usd: The cost of all answers in US dollars.
        last_s: The seconds of the last request.
        answers: The answers that may be billed.
    """

    attempts: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    last_s: float = 0.0
    answers: int = 0
    _started: float = field(default_factory=time.monotonic)

    def add(self, bill: Bill) -> None:
        """Add what an answer has cost."""
        is_first = self.answers == 0
        self.answers += 1
        self.tokens_in = bill.tokens_in if is_first else _sum(self.tokens_in, bill.tokens_in)
        self.tokens_out = bill.tokens_out if is_first else _sum(self.tokens_out, bill.tokens_out)
        self.cost_usd = bill.usd if is_first else _sum(self.cost_usd, bill.usd)

    def outcome(
        self,
        call: Call,
        status: CallStatus,
        reply: str | None = None,
        error: str | None = None,
        latency_s: float | None = None,
    ) -> Outcome:
        """Make the outcome of the call.

        Args:
            call: The call.
            status: What came of it.
            reply: The text of the reply, if there is one.
            error: The error, if there was one; it is cut to `MAX_REASON` characters.
            latency_s: The latency in seconds; None: the time since the first attempt.
        """
        return Outcome(
            call=call,
            reply=reply,
            status=status,
            error=None if error is None else error[:MAX_REASON],
            attempts=self.attempts,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd,
            latency_s=time.monotonic() - self._started if latency_s is None else latency_s,
            judged_at=datetime.now(UTC).replace(tzinfo=None),
        )


def _sum(one: float | None, other: float | None) -> Any:
    return None if one is None or other is None else one + other
