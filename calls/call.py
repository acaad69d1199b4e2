"""Calls: what determines a request, its outcome, and the ledger that stores both."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from calls.quota import Quota

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from calls.completion import Message


class CallStatus(StrEnum):
    """What came of a call."""

    SCORED = "scored"
    """A reply that can be used."""
    PARSE_FAILURE = "parse_failure"
    """A reply of a judge that cannot be used."""
    JUDGE_ERROR = "judge_error"
    """No reply of a judge."""
    TARGET_ERROR = "target_error"
    """No answer of a system, or an error in its place."""


class Origin(NamedTuple):
    """The sample and evaluator that a judge call belongs to, and which of their calls it is.

    Attributes:
        benchmark: The benchmark.
        system: The system.
        question_id: The question.
        evaluator: The evaluator.
        step: The number of the call within `repeat` and `member`, from 0 on through replicates.
        repeat: The number of the system's answer to the question, from 0.
        member: The number of the member of a panel, from 0.
        replicate: The number of the judgment of the sample by the same judge, from 0.
        turn: The number of the turn of a conversation, from 0.
    """

    benchmark: str
    system: str
    question_id: str
    evaluator: str
    step: int
    repeat: int = 0
    member: int = 0
    replicate: int = 0
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Everything that determines a request; equal calls are sent once.

    Attributes:
        model: The model's name in LiteLLM, or `system:` and the name of a system.
        parameters: The decoding parameters (temperature, seed, maximum tokens of a reply), or the
            version of the system.
        messages: The rendered messages.
        reply_schema: The JSON schema of the reply.
        replicate: The number of the repeat.
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
        """The digest without model and parameters, to find the replies of other judges."""
        return _digest(self._content)

    @property
    def _content(self) -> list[Any]:
        return [list(self.messages), self.reply_schema, self.replicate]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a call: one row of the table `judgments`.

    Attributes:
        call: The call.
        reply: The text of the last reply; None if there was none.
        status: What came of it.
        error: The error, if there was one.
        attempts: The number of requests sent, repair included.
        tokens_in: Tokens of all messages, over all attempts; None if not reported.
        tokens_out: Tokens of all replies, over all attempts; None if not reported.
        cost_usd: The cost of all attempts in US dollars; None if no price is known.
        latency_s: Seconds from the first attempt to the last reply.
        judged_at: The time of the judgment (UTC, without a time zone).
    """

    call: Call
    reply: str | None
    status: CallStatus
    error: str | None = None
    attempts: int
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    judged_at: datetime


class StoredReply(NamedTuple):
    """A reply that the ledger has stored; a later one has a higher number."""

    reply: str | None
    status: CallStatus
    error: str | None
    number: int = 0

    @property
    def is_lost(self) -> bool:
        """Whether the call got no answer at all, so that it is made again."""
        no_answer = self.reply is None and self.status == CallStatus.TARGET_ERROR
        return no_answer or self.status == CallStatus.JUDGE_ERROR


class Holder(NamedTuple):
    """Another process, which makes a call now."""

    pid: int
    host: str


class Ledger(Quota, Protocol):
    """Stores judgments for all processes of a project; safe to use from several threads.

    What was claimed or stored is on disk when the call returns.
    """

    def find(self, digest: str) -> StoredReply | None:
        """Return the stored reply to a call, or None."""

    async def claim(self, digest: str, known: int) -> StoredReply | Holder | None:
        """Claim a call; a claim ends with `store`, with `release`, or with this process.

        Args:
            digest: The call.
            known: The number of the stored outcome that the call is to replace; -1 for none.

        Returns:
            A reply that is newer, the process that makes the call now, or None: the call is
            claimed.
        """

    def release(self, digest: str) -> None:
        """End a claim without a judgment."""

    async def store(self, judgment: Outcome, known: int = -1) -> None:
        """Store a judgment and end its claim; a reply is replaced only if its number is `known`."""

    def record_call(self, origin: Origin, digest: str) -> None:
        """Record which sample and evaluator needed which call."""


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
