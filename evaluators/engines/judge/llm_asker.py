"""The LLM asker: calls a model with retries, one repair, rate limits and a budget."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from calls.budget import Budget, UsageHistory, reply_limit
from calls.call import CallStatus
from calls.errors import BadAnswer, CallFailure, ContentFiltered, TransientFailure, WrongAddress
from calls.prices import count_tokens
from calls.rate_limit import RateLimiter
from calls.retry import retrying
from evaluators.engines.judge.capabilities import Capabilities
from evaluators.engines.judge.errors import BadJudgeSettings, JudgeRefused, JudgeUnreachable
from evaluators.engines.judge.judgment import EMPTY, FILTERED, REFUSAL, TRUNCATED, CallUsage
from evaluators.engines.judge.keys import missing_key
from evaluators.engines.judge.litellm_client import LitellmClient
from evaluators.engines.judge.parse import InvalidReply
from evaluators.engines.judge.prices import prices_of, require_price

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        served_by: The provider's model name and fingerprint in the last answer.
    """

    def __init__(self, settings: JudgeSettings, quota: Quota) -> None:
        """Look up the key and the price.

        Raises:
            BadJudgeSettings: The key is not set, or there is a budget but no price.
        """
        self._settings = settings
        self._client = LitellmClient(settings)
        self._prices = prices_of(settings)
        require_price(settings, self._prices)
        self._budget = Budget(quota, settings.budget_usd, settings.daily_budget_usd)
        self._history = UsageHistory()
        self._limiter = RateLimiter(settings, quota)
        self.capabilities = Capabilities(settings)
        self.served_by = ""
        self._is_callable = False
        self._first = asyncio.Lock()
        self._unreadable = ""
        self._unreachable = 0
        self._refused: JudgeRefused | None = None

    @property
    def refused_usd(self) -> float | None:
        """The least that a call refused by the budget would have set aside; None without one."""
        return self._budget.refused_usd

    async def open(self) -> None:
        """Look up the key; nothing is sent.

        Raises:
            BadJudgeSettings: The key is not set.
        """
        key = None if self._client.secret else missing_key(self._settings)
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
        """Call until there is a judgment; raise `JudgeFailure` if no call can succeed."""
        if not self._is_callable:
            async with self._first:
                if not self._is_callable:
                    return await self._ask(call, parser)
        return await self._ask(call, parser)

    async def _ask(self, call: Call, parser: Parser) -> Outcome:
        usage = CallUsage()
        try:
            status, reply, error = await self._call_until_valid(call, parser, usage)
        except ContentFiltered as failure:
            self._is_callable = True
            return usage.judgment(call, CallStatus.PARSE_FAILURE, error=str(failure))
        except CallFailure as failure:
            if self._is_callable:
                self._count_unreachable(failure)
            else:
                self._check_first(failure)
            return usage.judgment(call, CallStatus.JUDGE_ERROR, error=str(failure))
        return usage.judgment(call, status, reply, error)

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
        """Send messages with the options that the model supports; retry transient failures."""
        settings = self._settings
        retries = retrying(
            attempts=settings.max_attempts,
            first_pause_s=settings.backoff_s,
            most_pause_s=_MAX_WAIT_S,
            is_worth_it=self._is_worth_another,
        )
        seed = settings.seed + call.replicate

        async def attempt(options: CallOptions) -> Completion:
            return await retries(
                self._send_once,
                messages,
                call.reply_schema,
                options,
                usage,
                max_tokens,
                seed,
                longer_than,
            )

        while True:
            try:
                completion = await self.capabilities.call_with_supported_options(
                    call.reply_schema, attempt
                )
                break
            except CutByBudget as cut:
                longer_than = cut.tokens
        self._unreachable = 0
        return completion

    async def _send_once(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        options: CallOptions,
        usage: CallUsage,
        max_tokens: int,
        seed: int,
        longer_than: int = 0,
    ) -> Completion:
        """Send messages once, within rate limits and budget."""
        tokens = 0
        if self._budget.limited or self._limiter.counts_tokens:
            tokens = count_tokens(self._settings.model, messages, schema)
        async with (
            self._limiter.slots.slot() as cuts,
            self._budget.spend(
                lambda: self._history.claim(self._prices, schema, tokens, max_tokens, longer_than)
            ) as spending,
        ):
            limit = reply_limit(self._prices, spending.granted, max_tokens)
            await self._limiter.wait_to_start(tokens)
            if self._refused is not None:
                raise self._refused
            usage.attempts += 1
            started = time.monotonic()
            spending.may_be_billed()  # also where it is cancelled
            try:
                completion = await self._client.call(
                    messages, schema, options, max_tokens=limit, seed=seed
                )
            except CallFailure as failure:
                if not failure.billed:
                    spending.usd = 0.0
                self._back_off(failure, cuts)
                raise
            except JudgeRefused as refusal:
                spending.usd = 0.0
                self._refused = refusal
                raise
            self._is_callable = True
            self.served_by = completion.served_by
            price = self._prices.charged(completion.usage)
            usage.add(completion.tokens_in, completion.tokens_out, price)
            if price is not None:
                spending.usd = price
            self._history.record(schema, tokens, completion.tokens_in, completion.tokens_out)
        self._limiter.slots.record_success()
        self._limiter.record_reply(completion.tokens_out, time.monotonic() - started)
        if completion.finish == "length" and limit < max_tokens:
            raise CutByBudget(limit)
        return completion

    def _is_worth_another(self, failure: BaseException, attempts: int) -> bool:
        """Return whether another attempt may succeed."""
        if not isinstance(failure, TransientFailure):
            return False
        if self._is_callable:
            return True
        return not failure.unreachable and not (failure.garbled and attempts > 1)

    def _back_off(self, failure: CallFailure, cuts: int) -> None:
        """Reduce the concurrency after a rate limit; give up if the server's wait is too long."""
        if not isinstance(failure, TransientFailure):
            return
        requested = failure.retry_after
        if requested is not None and requested > self._settings.patience_s:
            raise CallFailure(f"{failure}: the server asks to wait for {requested:.0f} s") from None
        if failure.busy:
            self._limiter.slots.slow_down(cuts, requested)

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
            self._is_callable = True
        elif self._unreadable:
            # This call is stored, since it may be billed; the next one ends the run.
            self._refused = JudgeRefused(
                f"the judge {where} gives no answer that can be read: {failure}"
            )
        self._unreadable = str(failure)

    def _count_unreachable(self, failure: CallFailure) -> None:
        if not (isinstance(failure, TransientFailure) and failure.unreachable):
            return
        self._unreachable += 1
        if self._unreachable > self._settings.concurrency:
            raise JudgeUnreachable(
                f"the judge {self._settings.where} is unreachable: {failure}; its replies are "
                "stored, run again to continue"
            )


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
