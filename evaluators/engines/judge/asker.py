"""Asking: what every asker does, and how a judgment becomes the answer to a flow."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from evaluators.engines.judge.judgment import Judgment
from evaluators.engines.judge.parse import InvalidReply, parse_reply
from evaluators.outcome import JudgeError, ParseFailure, Status, Unscored

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluators.engines.judge.judgment import JudgeCall, StoredReply
    from evaluators.flows.protocols import Origin
    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Ask

    Parser: TypeAlias = Callable[[str], Reply | InvalidReply]

TRUNCATED = "truncated"
REFUSAL = "refusal"
FILTERED = "content_filter"
EMPTY = "empty"

_NOT_PARSED = (TRUNCATED, REFUSAL, FILTERED, EMPTY)
"""Failures that do not follow from the text of the reply, so that no reading can undo them."""

_MAX_REASON = 500


class Asker(Protocol):
    """Puts questions to somebody; used on one event loop."""

    @property
    def spent_usd(self) -> float:
        """What was spent so far."""

    async def open(self) -> None:
        """Find out whether anything can be asked; raises `JudgeFailure` if not."""

    async def ask(self, question: JudgeCall, origin: Origin, reading: Parser) -> Judgment:
        """Ask until something has come of it; raises `JudgeFailure` when nothing ever will."""

    async def close(self) -> None:
        """Let go of connections."""


@dataclass(slots=True)
class CallUsage:
    """What one question has taken so far; a number that one answer does not tell is unknown."""

    attempts: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    _answers: int = 0
    _started: float = field(default_factory=time.monotonic)

    def add(self, tokens_in: int | None, tokens_out: int | None, cost_usd: float | None) -> None:
        """Add what an answer took."""
        first = self._answers == 0
        self._answers += 1
        self.tokens_in = tokens_in if first else _sum(self.tokens_in, tokens_in)
        self.tokens_out = tokens_out if first else _sum(self.tokens_out, tokens_out)
        self.cost_usd = cost_usd if first else _sum(self.cost_usd, cost_usd)

    def judgment(
        self,
        question: JudgeCall,
        status: Status,
        reply: str | None = None,
        error: str | None = None,
    ) -> Judgment:
        """What came of the question, with all that it took."""
        return Judgment(
            question=question,
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
    bill: CallUsage, question: JudgeCall, text: str, reading: Parser, error: str | None = None
) -> Judgment:
    """The judgment of a text that cannot be asked to be put right.

    Args:
        bill: What it took.
        question: What was asked.
        text: The reply.
        reading: How it is read.
        error: What was found wrong with it before.
    """
    if error is not None and error.startswith(_NOT_PARSED):
        return bill.judgment(question, Status.PARSE_FAILURE, text, error)
    result = reading(text)
    if isinstance(result, InvalidReply):
        return bill.judgment(question, Status.PARSE_FAILURE, text, result.reason)
    return bill.judgment(question, Status.SCORED, text)


def to_reply(held: StoredReply | Judgment, request: Ask[Any]) -> Reply | Unscored:
    """What a judgment means to the flow that asked.

    It follows from the reply's text as far as it can, so that another reading costs nothing.
    """
    error = held.error or ""
    if held.status == Status.JUDGE_ERROR:
        return JudgeError(error)
    if held.reply is None or error.startswith(_NOT_PARSED):
        return ParseFailure(error)
    result = parse_reply(held.reply, request)
    return ParseFailure(result.reason[:_MAX_REASON]) if isinstance(result, InvalidReply) else result


def _sum(one: float | None, other: float | None) -> Any:
    return None if one is None or other is None else one + other
