"""A judgment: one question put to a judge and what came of it, as the ledger keeps it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from evaluators.flows.prompt import Message
    from evaluators.flows.protocols import Origin
    from evaluators.outcome import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCall:
    """All that decides what a judge is sent; equal questions are asked once.

    Attributes:
        model: The model, as LiteLLM names it.
        parameters: What steers its decoding (temperature, seed, most tokens of a reply).
        messages: The rendered messages.
        reply_schema: The JSON schema of the reply.
        replicate: Which of several equal questions it is.
    """

    model: str
    parameters: Mapping[str, Any]
    messages: Sequence[Message]
    reply_schema: Mapping[str, Any]
    replicate: int = 0

    @property
    def digest(self) -> str:
        """The key in the ledger: 64 hexadecimal digits of SHA-256."""
        return _digest([self.model, self.parameters, *self._content])

    @property
    def content_digest(self) -> str:
        """The same without model and parameters, so that another judge's replies are found."""
        return _digest(self._content)

    @property
    def _content(self) -> list[Any]:
        return [list(self.messages), self.reply_schema, self.replicate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgment:
    """What came of a question: one row of the table `judgments`.

    Attributes:
        question: What was asked.
        reply: The text of the last reply; None when none came.
        status: `scored`, `parse_failure` or `judge_error`.
        error: What went wrong; None when nothing did.
        attempts: How many times something was sent, repair included.
        tokens_in: Tokens of all messages sent, over all attempts; None when not told.
        tokens_out: Tokens of all replies, over all attempts; None when not told.
        cost_usd: The price of all attempts in US dollars; None where no price is known.
        latency_s: Seconds from the first attempt to the last reply.
        judged_at: When it was settled (UTC, without a time zone).
    """

    question: JudgeCall
    reply: str | None
    status: Status
    error: str | None = None
    attempts: int
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    judged_at: datetime


class StoredReply(NamedTuple):
    """What the ledger says of a question that was put before."""

    reply: str | None
    status: Status
    error: str | None


class Ledger(Protocol):
    """Where judgments are kept; safe to use from several threads."""

    def find(self, digest: str) -> StoredReply | None:
        """What came of a question, if it was put before."""

    def store(self, judgment: Judgment) -> None:
        """Keep a judgment, so that the end of this process does not lose it."""

    def record_call(self, origin: Origin, digest: str) -> None:
        """Remember which sample's grading put which question."""


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
