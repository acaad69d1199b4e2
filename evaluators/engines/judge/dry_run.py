"""Planning: what a judge would be asked, found out without asking anybody."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.asker import to_reply
from evaluators.engines.judge.cost import Prices, count_tokens
from evaluators.engines.judge.settings import JudgeCallBuilder
from evaluators.outcome import JudgeError, Status, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.engines.judge.judgment import Ledger
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.protocols import Origin
    from evaluators.flows.requests import Ask, Request

PLANNED = "planned"

TOKEN_SAMPLE = 200
"""Questions whose tokens are counted; the rest are taken to be like them."""

TOKENS_OUT = 250
"""Tokens that a reply is taken to have where the ledger knows of none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """What questions would cost; null where it cannot be told.

    Attributes:
        tokens_in: Tokens of the messages.
        tokens_out: Tokens of the replies.
        usd: The price in US dollars; None where no price is known.
    """

    tokens_in: int
    tokens_out: int
    usd: float | None


class DryRunJudge:
    """Answers from the ledger, and takes note of what it does not hold.

    Attributes:
        held: Different questions that the ledger answers.
        missing: Different questions that would be asked, but for those that others would ask first.
        origins: Samples whose flow ends at a missing question, with the steps that were answered.
    """

    def __init__(self, settings: JudgeSettings, ledger: Ledger, counted: set[str]) -> None:
        """Prepare it.

        Args:
            settings: Who would be asked and how.
            ledger: Where judgments are looked up.
            counted: Questions that others would ask; those that this one would are added.
        """
        self.identity = settings.identity
        self.held: set[str] = set()
        self.missing: set[str] = set()
        self.origins: Counter[Origin] = Counter()
        self._settings = settings
        self._questions = JudgeCallBuilder(settings)
        self._ledger = ledger
        self._counted = counted
        self._samples: dict[str, Sequence[dict[str, str]]] = {}

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """What the ledger holds; `JudgeError` for a question that would be asked."""
        question = self._questions.of(request, origin)
        digest = question.digest
        held = self._ledger.find(digest)
        future: Future[Any] = Future()
        if held is None or held.status == Status.JUDGE_ERROR:
            if digest not in self._counted:
                self._counted.add(digest)
                self.missing.add(digest)
            if len(self._samples) < TOKEN_SAMPLE:
                self._samples.setdefault(digest, question.messages)
            self.origins[origin._replace(step=0)] += 1
            future.set_exception(JudgeError(PLANNED))
            return future
        self.held.add(digest)
        reply = to_reply(held, request)
        if isinstance(reply, Unscored):
            future.set_exception(reply)
        else:
            future.set_result(reply)
        return future

    def cost(self, questions: int, tokens_out: float | None = None) -> CostEstimate:
        """What questions like the missing ones would cost.

        Args:
            questions: How many of them.
            tokens_out: The tokens that replies had until now, on average; None: not known.
        """
        if not questions or not self._samples:
            return CostEstimate(tokens_in=0, tokens_out=0, usd=0.0)
        counted = [count_tokens(self._settings.model, shown) for shown in self._samples.values()]
        each = sum(counted) / len(counted)
        tokens_in = round(each * questions)
        replies = round((tokens_out or TOKENS_OUT) * questions)
        usd = Prices.of(self._settings).usd(tokens_in, replies)
        return CostEstimate(tokens_in=tokens_in, tokens_out=replies, usd=usd)


class DryRunModel:
    """A model that computes nothing: planning costs no more than the asking of the ledger."""

    identity = PLANNED

    def unavailable_reason(self) -> str | None:
        """None: planning needs no model."""
        return None

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        """A reason for each request."""
        return [JudgeError(PLANNED) for _ in requests]
