"""The model: asks a language model, repairs once, tries again, keeps to pace and budget."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.asker import EMPTY, FILTERED, REFUSAL, TRUNCATED, CallUsage
from evaluators.engines.judge.capabilities import CapabilityProbe
from evaluators.engines.judge.cost import Budget, Prices, count_tokens, most_usd, require_price
from evaluators.engines.judge.errors import (
    CallFailure,
    ContentFiltered,
    JudgeRefused,
    JudgeUnreachable,
    TransientFailure,
    redact,
)
from evaluators.engines.judge.litellm_call import LitellmClient, litellm
from evaluators.engines.judge.parse import InvalidReply
from evaluators.engines.judge.rate_limit import RateLimiter
from evaluators.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.engines.judge.asker import Parser
    from evaluators.engines.judge.judgment import JudgeCall, Judgment
    from evaluators.engines.judge.litellm_call import CallOptions, Completion
    from evaluators.engines.judge.parse import InvalidReply
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.prompt import Message
    from evaluators.flows.protocols import Origin

_LONGEST_WAIT = 60.0
_FORM_TEXT = {
    "schema": "held to JSON schemas",
    "object": "held to JSON",
    "text": "held to no form",
}


class OverBudget(CallFailure):
    """The largest possible price of a call does not fit into what is left."""


class LlmAsker:
    """Asks one model through LiteLLM; used on one event loop."""

    def __init__(self, settings: JudgeSettings) -> None:
        """Look up key and price.

        Raises:
            BadJudgeSettings: The key is not set, or a budget cannot be held.
        """
        self._settings = settings
        self._caller = LitellmClient(settings)
        self._prices = Prices.of(settings)
        require_price(settings, self._prices)
        self._budget = Budget(settings.budget_usd)
        self._pace = RateLimiter(settings)
        self._terms = CapabilityProbe(settings)
        self._unreachable = 0
        self._refused: JudgeRefused | None = None

    @property
    def manner(self) -> CallOptions:
        """How the model is asked, as far as is known."""
        return self._terms.manner

    @property
    def silence(self) -> str | None:
        """Why the probe got no answer although there is somebody to ask; None if it got one."""
        return self._terms.silence

    @property
    def served_by(self) -> str:
        """Model and fingerprint in the provider's words, as of the probe."""
        return self._terms.served_by

    @property
    def spent_usd(self) -> float:
        """What was spent, calls that were broken off and may have been paid included."""
        return self._budget.spent_usd

    async def open(self) -> None:
        """Send one small request; see `Negotiation.open`."""
        await self._terms.open(self._once)

    async def close(self) -> None:
        """Nothing is held open."""

    async def ask(
        self,
        question: JudgeCall,
        origin: Origin,  # noqa: ARG002 - a model is not told for whom it is asked
        reading: Parser,
    ) -> Judgment:
        """Ask until something has come of it; raises `JudgeFailure` when nothing ever will."""
        bill = CallUsage()
        try:
            status, reply, error = await self._ladder(question, reading, bill)
        except ContentFiltered as failure:
            return bill.judgment(question, Status.PARSE_FAILURE, error=str(failure))
        except CallFailure as failure:
            self._count_unreachable(failure)
            return bill.judgment(question, Status.JUDGE_ERROR, error=str(failure))
        shown = None if reply is None else redact(reply, self._caller.secret)
        return bill.judgment(question, status, shown, error)

    async def _ladder(
        self, question: JudgeCall, reading: Parser, bill: CallUsage
    ) -> tuple[Status, str | None, str | None]:
        """Ask, ask again with room for more if cut off, and have faults put right once."""
        room = self._settings.max_tokens
        messages: list[Message] = list(question.messages)
        repaired = False
        while True:
            said = await self._send(question, messages, bill, room)
            if said.finish == "length":
                if room > self._settings.max_tokens:
                    told = f"{TRUNCATED}: the reply is longer than {room} tokens"
                    return Status.PARSE_FAILURE, said.text, told
                room *= 2
                continue
            without = missing_text_reason(said)
            if without is not None:
                return Status.PARSE_FAILURE, said.refusal or said.text, without
            text = said.text or ""
            result = reading(text)
            if not isinstance(result, InvalidReply):
                return Status.SCORED, text, None
            if repaired:
                return Status.PARSE_FAILURE, text, result.reason
            repaired = True
            messages = repair_messages(question, text, result)

    async def _send(
        self, question: JudgeCall, messages: Sequence[Message], bill: CallUsage, room: int
    ) -> Completion:
        """Send messages in the manner that suits the model, again while that may help."""
        import tenacity

        settings = self._settings
        growing = tenacity.wait_exponential(settings.backoff_s, _LONGEST_WAIT)
        waits = growing + tenacity.wait_random(0, settings.backoff_s)

        def wait(state: tenacity.RetryCallState) -> float:
            failure = None if state.outcome is None else state.outcome.exception()
            asked = failure.retry_after if isinstance(failure, TransientFailure) else None
            return waits(state) if asked is None else asked

        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(settings.max_attempts),
            retry=tenacity.retry_if_exception_type(TransientFailure),
            wait=wait,
            reraise=True,
        )
        seed = settings.seed + question.replicate

        async def attempt(manner: CallOptions) -> Completion:
            return await retrying(
                self._once, messages, question.reply_schema, manner, bill, room, seed
            )

        said = await self._terms.agree(question.reply_schema, attempt)
        self._unreachable = 0
        return said

    async def _once(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        manner: CallOptions,
        bill: CallUsage,
        room: int,
        seed: int,
    ) -> Completion:
        """Send messages once, within pace and budget."""
        tokens = 0
        if self._budget.limited or self._pace.counts_tokens:
            tokens = count_tokens(self._settings.model, messages, schema)
        most = most_usd(self._prices, tokens, room)
        if not await self._budget.reserve(most):
            raise OverBudget(f"budget: {self._settings.budget_usd} USD do not allow another call")
        spent = 0.0
        try:
            async with self._pace.lanes.lane() as sent_at:
                await self._pace.start(tokens)
                if self._refused is not None:
                    raise self._refused
                bill.attempts += 1
                started = time.monotonic()
                spent = most  # what is broken off may have been paid for
                try:
                    said = await self._caller.call(
                        messages, schema, manner, max_tokens=room, seed=seed
                    )
                except CallFailure as failure:
                    spent = (
                        most if isinstance(failure, TransientFailure) and failure.billed else 0.0
                    )
                    self._slow_down(failure, sent_at)
                    raise
                except JudgeRefused as refusal:
                    spent = 0.0
                    self._refused = refusal
                    raise
            self._pace.lanes.answered()
            self._pace.replied(said.tokens_out, time.monotonic() - started)
            price = self._prices.charged(said.usage)
            bill.add(said.tokens_in, said.tokens_out, price)
            spent = most if price is None else price
        finally:
            await self._budget.settle(most, spent)
        return said

    def _slow_down(self, failure: CallFailure, sent_at: int) -> None:
        """Ask less at once where too much was asked; give up where the wait would be too long."""
        if not isinstance(failure, TransientFailure):
            return
        asked = failure.retry_after
        if asked is not None and asked > self._settings.patience_s:
            raise CallFailure(f"{failure}: the server asks to wait for {asked:.0f} s") from None
        if failure.busy:
            self._pace.lanes.busy(sent_at, asked)

    def _count_unreachable(self, failure: CallFailure) -> None:
        if not (isinstance(failure, TransientFailure) and failure.unreachable):
            return
        self._unreachable += 1
        if self._unreachable > self._settings.concurrency:
            raise JudgeUnreachable(
                f"the judge {self._settings.where} is gone: {failure}; what it answered is kept, "
                "run again to go on"
            )


def check_judge(settings: JudgeSettings) -> str:
    """Ask the judge something small; for people who want to know whether it works.

    Returns:
        One line that says how it answers.

    Raises:
        JudgeFailure: It cannot be asked; one line says why.
    """

    async def answers() -> str:
        asker = LlmAsker(settings)
        started = time.monotonic()
        await asker.open()
        if asker.silence is not None:
            raise JudgeUnreachable(asker.silence)
        manner = asker.manner
        drawn = "" if manner.sampling else ", at a temperature of its own"
        took = time.monotonic() - started
        served = f" as {asker.served_by!r}" if asker.served_by else ""
        return f"{settings.where} answers in {took:.1f} s{served}{drawn}, {_FORM_TEXT[manner.form]}"

    litellm()  # its import is nobody's time to answer
    return asyncio.run(answers())


_LONGEST_SHOWN = 40_000
"""Characters of a faulty reply that the judge is shown again."""


def missing_text_reason(said: Completion) -> str | None:
    """Why there is no text to read, if there is none."""
    if said.refusal:
        return f"{REFUSAL}: {' '.join(said.refusal.split())}"
    if said.finish == "content_filter":
        return f"{FILTERED}: the provider held the reply back"
    if not (said.text or "").strip():
        return f"{EMPTY}: the judge replied with nothing"
    return None


def repair_messages(question: JudgeCall, text: str, faulty: InvalidReply) -> list[Message]:
    """The messages that ask for a reply to be put right.

    Args:
        question: What was asked.
        text: What came back.
        faulty: What is wrong with it.
    """
    plain = "in the words that you were asked for"
    form = "one JSON object that follows the schema" if question.reply_schema else plain
    faults = "\n".join(f"- {fault}" for fault in faulty.faults)
    return [
        *question.messages,
        {"role": "assistant", "content": text[:_LONGEST_SHOWN]},
        {
            "role": "user",
            "content": "Your reply cannot be used:\n"
            f"{faults}\n"
            "Give the whole reply again with these faults put right and your verdicts unchanged "
            f"where they were not at fault: {form}, nothing else.",
        },
    ]
