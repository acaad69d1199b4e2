"""The model: asks a language model, repairs once, tries again, keeps to pace and budget."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.asking import EMPTY, FILTERED, REFUSAL, TRUNCATED, Bill
from evaluators.engines.judge.calls import Caller
from evaluators.engines.judge.errors import JudgeUnreachable
from evaluators.engines.judge.failures import CallFailure, Filtered, Passing, concealed
from evaluators.engines.judge.pace import Pace
from evaluators.engines.judge.prices import (
    Budget,
    Prices,
    count_tokens,
    most_usd,
    require_price,
)
from evaluators.engines.judge.probe import Negotiation
from evaluators.engines.judge.reading import Faulty
from evaluators.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.engines.contract import Origin
    from evaluators.engines.judge.asking import Reading
    from evaluators.engines.judge.calls import Manner, Said
    from evaluators.engines.judge.judgment import Judgment, Question
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.prompt import Message

_LOG = logging.getLogger(__name__)

_LONGEST_SHOWN = 40_000
"""Characters of a faulty reply that the judge is shown again."""

_LONGEST_WAIT = 60.0


class OverBudget(CallFailure):
    """The largest possible price of a call does not fit into what is left."""


class ModelAsker:
    """Asks one model through LiteLLM; used on one event loop."""

    def __init__(self, settings: JudgeSettings) -> None:
        """Look up key and price.

        Raises:
            BadJudgeSettings: The key is not set, or a budget cannot be held.
        """
        self._settings = settings
        self._caller = Caller(settings)
        self._prices = Prices.of(settings)
        require_price(settings, self._prices)
        self._budget = Budget(settings.budget_usd)
        self._pace = Pace(settings)
        self._terms = Negotiation(settings)
        self._unreachable = 0

    async def open(self) -> None:
        """Send one small request; see `Negotiation.open`."""
        await self._terms.open(self._once)

    async def close(self) -> None:
        """Nothing is held open."""

    async def settle(self, question: Question, origin: Origin, reading: Reading) -> Judgment:  # noqa: ARG002 - a model is told nothing of it
        """Ask until something has come of it; raises `JudgeFailure` when nothing ever will."""
        bill = Bill()
        try:
            status, reply, error = await self._ladder(question, reading, bill)
        except Filtered as failure:
            return bill.judgment(question, Status.PARSE_FAILURE, error=str(failure))
        except CallFailure as failure:
            self._count_unreachable(failure)
            return bill.judgment(question, Status.JUDGE_ERROR, error=str(failure))
        return bill.judgment(question, status, _clean(reply, self._caller.secret), error)

    async def _ladder(
        self, question: Question, reading: Reading, bill: Bill
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
            without = _without_text(said)
            if without is not None:
                return Status.PARSE_FAILURE, said.refusal or said.text, without
            text = said.text or ""
            result = reading(text)
            if not isinstance(result, Faulty):
                return Status.SCORED, text, None
            if repaired:
                return Status.PARSE_FAILURE, text, result.reason
            repaired = True
            messages = _repair(question.messages, text, result)

    async def _send(
        self, question: Question, messages: Sequence[Message], bill: Bill, room: int
    ) -> Said:
        """Send messages in the manner that suits the model, again while that may help."""
        import tenacity

        settings = self._settings
        waits = tenacity.wait_exponential_jitter(
            settings.backoff_s, _LONGEST_WAIT, jitter=settings.backoff_s
        )

        def wait(state: tenacity.RetryCallState) -> float:
            failure = None if state.outcome is None else state.outcome.exception()
            asked = failure.retry_after if isinstance(failure, Passing) else None
            return waits(state) if asked is None else asked

        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(settings.max_attempts),
            retry=tenacity.retry_if_exception(self._worth_another),
            wait=wait,
            reraise=True,
        )
        seed = settings.seed + question.replicate

        async def attempt(manner: Manner) -> Said:
            return await retrying(
                self._once, messages, question.reply_schema, manner, bill, room, seed
            )

        said = await self._terms.agree(question.reply_schema, attempt)
        self._unreachable = 0
        return said

    def _worth_another(self, failure: BaseException) -> bool:
        return isinstance(failure, Passing) and (
            failure.retry_after is None or failure.retry_after <= self._settings.patience_s
        )

    async def _once(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any],
        manner: Manner,
        bill: Bill,
        room: int,
        seed: int,
    ) -> Said:
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
                bill.attempts += 1
                spent = most  # what is broken off may have been paid for
                try:
                    said = await self._caller.call(
                        messages, schema, manner, max_tokens=room, seed=seed
                    )
                except CallFailure as failure:
                    billed = isinstance(failure, Passing) and failure.billed
                    spent = most if billed else 0.0
                    if isinstance(failure, Passing) and failure.busy:
                        self._pace.lanes.busy(sent_at, self._pause(failure))
                    raise
            self._pace.lanes.answered()
            self._pace.replied(said.tokens_out)
            price = self._prices.charged(said.usage)
            bill.add(said.tokens_in, said.tokens_out, price)
            spent = most if price is None else price
        finally:
            await self._budget.settle(most, spent)
        return said

    def _pause(self, failure: Passing) -> float | None:
        asked = failure.retry_after
        return None if asked is None or asked > self._settings.patience_s else asked

    def _count_unreachable(self, failure: CallFailure) -> None:
        if not (isinstance(failure, Passing) and failure.unreachable):
            return
        self._unreachable += 1
        if self._unreachable > self._settings.concurrency:
            raise JudgeUnreachable(
                f"the judge {self._settings.where} is gone: {failure}; what it answered is kept, "
                "run again to go on"
            )


def _without_text(said: Said) -> str | None:
    """Why there is no text to read, if there is none."""
    if said.refusal:
        return f"{REFUSAL}: {' '.join(said.refusal.split())}"
    if said.finish == "content_filter":
        return f"{FILTERED}: the provider held the reply back"
    if not (said.text or "").strip():
        return f"{EMPTY}: the judge replied with nothing"
    return None


def _repair(messages: Sequence[Message], text: str, faulty: Faulty) -> list[Message]:
    faults = "\n".join(f"- {fault}" for fault in faulty.faults)
    return [
        *messages,
        {"role": "assistant", "content": text[:_LONGEST_SHOWN]},
        {
            "role": "user",
            "content": "Your reply cannot be used:\n"
            f"{faults}\n"
            "Give the whole reply again with these faults put right and your verdicts unchanged "
            "where they were not at fault: one JSON object that follows the schema, nothing else.",
        },
    ]


def _clean(reply: str | None, secret: str | None) -> str | None:
    return None if reply is None else concealed(reply, secret)
