"""The LLM asker: gets a judgment from a model, with one repair and one longer reply."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from calls.call import CallStatus
from calls.claims import EndsBilled
from calls.errors import BadAnswer, CallFailure, ContentFiltered, TransientFailure, WrongAddress
from calls.prices import count_tokens
from calls.rate_limit import CallLimits
from calls.sender import Sender
from calls.usage import CallUsage
from evaluators.engines.judge.capabilities import Capabilities
from evaluators.engines.judge.errors import (
    BadJudgeSettings,
    JudgeFailure,
    JudgeRefused,
    JudgeUnreachable,
)
from evaluators.engines.judge.judge_kind import JudgeKind, JudgeRequest
from evaluators.engines.judge.judgment import EMPTY, FILTERED, REFUSAL, TRUNCATED
from evaluators.engines.judge.parse import InvalidReply
from evaluators.engines.judge.reachable import missing_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calls.call import Call, Origin, Outcome
    from calls.completion import Completion, Message
    from calls.quota import Quota
    from evaluators.engines.judge.judgment import Parser
    from evaluators.engines.judge.litellm_client import CallOptions
    from evaluators.engines.judge.settings import JudgeSettings

_MAX_WAIT_S = 60.0


class CutByBudget(CallFailure):
    """A reply was cut, because only that much of it was paid for.

    Attributes:
        tokens: The length in tokens at which it was cut.
    """

    def __init__(self, tokens: int) -> None:
        super().__init__(f"{TRUNCATED}: the reply is longer than {tokens} tokens")
        self.tokens = tokens


class LlmAsker:
    """Calls one model through LiteLLM; used on one event loop.

    Calls are made one at a time until one of them shows that the model can be called: there is no
    other check, which would be paid for as well.

    Attributes:
        capabilities: What is known of the model's capabilities.
    """

    def __init__(self, settings: JudgeSettings, quota: Quota) -> None:
        """Look up the key and the price.

        Raises:
            BadJudgeSettings: The key is not set, or there is a budget but no price.
        """
        self._settings = settings
        self._kind = JudgeKind(settings)
        limits = CallLimits(
            where=settings.where,
            concurrency=settings.concurrency,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
            max_tokens=settings.max_tokens,
            spreads_starts=True,
            budget_usd=settings.budget_usd,
            daily_budget_usd=settings.daily_budget_usd,
            attempts=settings.max_attempts,
            first_pause_s=settings.backoff_s,
            most_pause_s=_MAX_WAIT_S,
            patience_s=settings.patience_s,
        )
        self._sender = Sender(self._kind, limits, quota)
        self.capabilities = Capabilities(settings)
        self._first = asyncio.Lock()
        self._unreadable = ""

    @property
    def served_by(self) -> str:
        """The provider's model name and fingerprint in the last answer."""
        return self._kind.served_by

    @property
    def refused_usd(self) -> float | None:
        """The least that a call refused by the budget would have set aside; None without one."""
        return self._sender.refused_usd

    async def open(self) -> None:
        """Look up the key; nothing is sent.

        Raises:
            BadJudgeSettings: The key is not set.
        """
        key = None if self._kind.client.secret else missing_key(self._settings)
        if key is not None:
            raise BadJudgeSettings(f"{self._settings.title}'s key: {key}")

    async def close(self) -> None:
        """Do nothing: connections are closed with the event loop."""

    async def ask(
        self,
        call: Call,
        origin: Origin,  # noqa: ARG002 - part of the protocol
        parser: Parser,
    ) -> Outcome:
        """Call until there is a judgment.

        Raises:
            JudgeFailure: No call can succeed.
            EndsBilled: So it is, or it was cancelled, after an answer that was no judgment yet.
        """
        usage = CallUsage()
        try:
            if not self._kind.is_callable:
                async with self._first:
                    if not self._kind.is_callable:
                        return await self._ask(call, parser, usage)
            return await self._ask(call, parser, usage)
        except (JudgeFailure, asyncio.CancelledError) as end:
            if not usage.answers:
                raise
            reason = str(end) or "broken off: the run has ended"
            outcome = usage.outcome(call, CallStatus.JUDGE_ERROR, error=reason)
            raise EndsBilled(outcome, end) from None

    async def _ask(self, call: Call, parser: Parser, usage: CallUsage) -> Outcome:
        try:
            status, reply, error = await self._call_until_valid(call, parser, usage)
        except ContentFiltered as failure:
            self._kind.is_callable = True
            return usage.outcome(call, CallStatus.PARSE_FAILURE, error=str(failure))
        except CallFailure as failure:
            if not self._kind.is_callable:
                self._check_first(failure)
            elif self._sender.has_lost_too_many:
                raise JudgeUnreachable(
                    f"the judge {self._settings.where} is unreachable: {failure}; its replies are "
                    "stored, run again to continue"
                ) from None
            return usage.outcome(call, CallStatus.JUDGE_ERROR, error=self._describe(failure))
        return usage.outcome(call, status, reply, error)

    async def _call_until_valid(
        self, call: Call, parser: Parser, usage: CallUsage
    ) -> tuple[CallStatus, str | None, str | None]:
        """Call; retry a truncated reply with more tokens, request one repair of an invalid one."""
        max_tokens = self._settings.max_tokens
        messages: list[Message] = list(call.messages)
        repaired = False
        longer_than = 0
        while True:
            completion = await self._send(call, messages, usage, max_tokens, longer_than)
            if completion.finish == "length":
                if max_tokens > self._settings.max_tokens:
                    too_long = f"{TRUNCATED}: the reply is longer than {max_tokens} tokens"
                    return CallStatus.PARSE_FAILURE, completion.text, too_long
                longer_than, max_tokens = max_tokens, 2 * max_tokens
                continue
            reason = missing_text_reason(completion)
            if reason is not None:
                return CallStatus.PARSE_FAILURE, completion.refusal or completion.text, reason
            text = completion.text or ""
            result = parser(text)
            if not isinstance(result, InvalidReply):
                return CallStatus.SCORED, text, None
            if repaired:
                return CallStatus.PARSE_FAILURE, text, result.reason
            repaired = True
            messages = repair_messages(call, text, result)

    async def _send(
        self,
        call: Call,
        messages: Sequence[Message],
        usage: CallUsage,
        max_tokens: int,
        longer_than: int,
    ) -> Completion:
        """Send messages with the options that the model supports."""
        settings = self._settings
        tokens = 0
        if self._sender.counts_tokens:
            tokens = count_tokens(settings.model, messages, call.reply_schema)

        async def attempt(options: CallOptions) -> Completion:
            request = JudgeRequest(
                messages=messages,
                schema=call.reply_schema,
                options=options,
                seed=settings.seed + call.replicate,
                tokens=tokens,
                max_tokens=max_tokens,
                longer_than=longer_than,
            )
            completion, limit = await self._sender.send(request, usage)
            if completion.finish == "length" and limit < max_tokens:
                raise CutByBudget(limit)
            return completion

        while True:
            try:
                return await self.capabilities.call_with_supported_options(
                    call.reply_schema, attempt
                )
            except CutByBudget as cut:
                longer_than = cut.tokens

    def _describe(self, failure: CallFailure) -> str:
        """Return the reason of a failure, and how long the server asks to wait if that is why."""
        if isinstance(failure, TransientFailure) and self._sender.is_too_long(failure):
            return f"{failure}: the server asks to wait for {failure.retry_after:.0f} s"
        return str(failure)

    def _check_first(self, failure: CallFailure) -> None:
        """Decide what a failure means while no call has had an answer.

        Raises:
            JudgeUnreachable: No server answers, or it does not speak the protocol.
        """
        where = self._settings.where
        if isinstance(failure, WrongAddress):
            raise JudgeUnreachable(f"the judge {where} cannot be called: {failure}") from None
        if isinstance(failure, TransientFailure) and (failure.unreachable or failure.garbled):
            raise JudgeUnreachable(f"the judge {where} does not answer: {failure}") from None
        if not isinstance(failure, BadAnswer) or self._unreadable not in ("", str(failure)):
            # The server is busy, or this call does not suit it: the others may be answered.
            self._kind.is_callable = True
        elif self._unreadable:
            # This call is stored, since it may be billed; the next one ends the run.
            self._sender.refuse(
                JudgeRefused(f"the judge {where} gives no answer that can be read: {failure}")
            )
        self._unreadable = str(failure)


_MAX_SHOWN = 40_000
"""The most characters of an invalid reply that the repair request contains."""


def missing_text_reason(completion: Completion) -> str | None:
    """Return why a completion has no text, or None if it has."""
    if completion.refusal:
        return f"{REFUSAL}: {' '.join(completion.refusal.split())}"
    if completion.finish == "content_filter":
        return f"{FILTERED}: the provider held the reply back"
    if not (completion.text or "").strip():
        return f"{EMPTY}: the judge replied with nothing"
    return None


def repair_messages(call: Call, text: str, faulty: InvalidReply) -> list[Message]:
    """Return the messages that ask the judge to repair an invalid reply.

    Args:
        call: The judge call.
        text: The invalid reply.
        faulty: Its faults.
    """
    plain = "in the words that you were asked for"
    form = "one JSON object that follows the schema" if call.reply_schema else plain
    faults = "\n".join(f"- {fault}" for fault in faulty.faults)
    return [
        *call.messages,
        {"role": "assistant", "content": text[:_MAX_SHOWN]},
        {
            "role": "user",
            "content": "Your reply cannot be used:\n"
            f"{faults}\n"
            "Give the whole reply again with these faults put right and your verdicts unchanged "
            f"where they were not at fault: {form}, nothing else.",
        },
    ]
