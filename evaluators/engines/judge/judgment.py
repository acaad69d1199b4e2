"""Judgments: how the text of a judge becomes one, and how it becomes the reply of a flow."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from calls.call import CallStatus, Outcome
from evaluators.engines.judge.parse import InvalidReply, parse_reply
from evaluators.outcome import JudgeError, ParseFailure, Unscored

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from calls.call import Call, StoredReply
    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Ask

    Parser: TypeAlias = Callable[[str], Reply | InvalidReply]

TRUNCATED = "truncated"
REFUSAL = "refusal"
FILTERED = "content_filter"
EMPTY = "empty"

_NOT_PARSED = (TRUNCATED, REFUSAL, FILTERED, EMPTY)
"""Prefixes of errors that do not depend on the reply's text, so parsing it again cannot help."""

_MAX_REASON = 300
"""The most characters of a reason that is stored; the repair request names all faults."""


@dataclass(slots=True)
class CallUsage:
    """Attempts, tokens and cost of a judge call; unknown if one attempt does not report them."""

    attempts: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    _answers: int = 0
    _started: float = field(default_factory=time.monotonic)

    def add(self, tokens_in: int | None, tokens_out: int | None, cost_usd: float | None) -> None:
        """Add the tokens and the cost of one attempt."""
        is_first = self._answers == 0
        self._answers += 1
        self.tokens_in = tokens_in if is_first else _sum(self.tokens_in, tokens_in)
        self.tokens_out = tokens_out if is_first else _sum(self.tokens_out, tokens_out)
        self.cost_usd = cost_usd if is_first else _sum(self.cost_usd, cost_usd)

    def judgment(
        self,
        call: Call,
        status: CallStatus,
        reply: str | None = None,
        error: str | None = None,
    ) -> Outcome:
        """Make the judgment of the call."""
        return Outcome(
            call=call,
            reply=reply,
            status=status,
            error=None if error is None else error[:_MAX_REASON],
            attempts=self.attempts,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd,
            latency_s=time.monotonic() - self._started,
            judged_at=datetime.now(UTC).replace(tzinfo=None),
        )


def parse_judgment(
    usage: CallUsage, call: Call, text: str, parser: Parser, error: str | None = None
) -> Outcome:
    """Parse a reply that cannot be repaired, and make its judgment.

    Args:
        usage: The usage of the call.
        call: The judge call.
        text: The reply.
        parser: Parses the reply.
        error: The error that the judge's own judgment had, if any.
    """
    if error is not None and error.startswith(_NOT_PARSED):
        return usage.judgment(call, CallStatus.PARSE_FAILURE, text, error)
    result = parser(text)
    if isinstance(result, InvalidReply):
        return usage.judgment(call, CallStatus.PARSE_FAILURE, text, result.reason)
    return usage.judgment(call, CallStatus.SCORED, text)


def to_reply(stored: StoredReply | Outcome, request: Ask[Any]) -> Reply | Unscored:
    """Convert a judgment to the reply, or the reason, that the flow receives.

    The text is parsed again where possible, so a changed parser needs no new judge call.
    """
    error = stored.error or ""
    if stored.status == CallStatus.JUDGE_ERROR:
        return JudgeError(error)
    if stored.reply is None or error.startswith(_NOT_PARSED):
        return ParseFailure(error)
    result = parse_reply(stored.reply, request)
    return ParseFailure(result.reason[:_MAX_REASON]) if isinstance(result, InvalidReply) else result


def complete(future: Future[Any], result: Reply | Unscored) -> None:
    """Set a reply as the result of a future, or a reason as its exception."""
    if isinstance(result, Unscored):
        future.set_exception(result)
    else:
        future.set_result(result)


def _sum(one: float | None, other: float | None) -> Any:
    return None if one is None or other is None else one + other
