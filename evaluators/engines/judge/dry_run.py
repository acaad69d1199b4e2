"""Dry runs: which judge calls a run would make and what they would cost, without any call."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from calls.prices import REPLY_TOKENS, count_tokens
from evaluators.engines.judge.judgment import complete, to_reply
from evaluators.engines.judge.prices import prices_of
from evaluators.engines.judge.settings import JudgeCallBuilder
from evaluators.outcome import JudgeError, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calls.call import Ledger, Origin
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.requests import Ask, Request

PLANNED = "planned"

TOKEN_SAMPLE = 200
"""The number of calls whose tokens are counted; the mean is used for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """The estimated cost of judge calls.

    Attributes:
        tokens_in: Tokens of the messages.
        tokens_out: Tokens of the replies.
        usd: The cost in US dollars; None if no price is known.
    """

    tokens_in: int
    tokens_out: int
    usd: float | None


def sum_costs(costs: Sequence[CostEstimate]) -> CostEstimate:
    """Return the sum of costs; the price is unknown if that of one of them is."""
    prices = [each.usd for each in costs]
    return CostEstimate(
        tokens_in=sum(each.tokens_in for each in costs),
        tokens_out=sum(each.tokens_out for each in costs),
        usd=None if None in prices else sum(filter(None, prices)),
    )


class DryRunJudge:
    """Answers from the ledger and records the calls that the ledger lacks.

    Attributes:
        held: Digests of distinct calls that the ledger answers.
        missing: Digests of distinct calls that would be made, except those counted elsewhere.
        origins: Samples whose flow ends at a missing call, with the number of missing calls.
    """

    def __init__(self, settings: JudgeSettings, ledger: Ledger, counted: set[str]) -> None:
        """Set the judge to plan for.

        Args:
            settings: The settings of the judge.
            ledger: The ledger with the stored judgments.
            counted: Digests of calls that are already counted; new missing calls are added.
        """
        self.identity = settings.identity
        self.held: set[str] = set()
        self.missing: set[str] = set()
        self.origins: Counter[Origin] = Counter()
        self._settings = settings
        self._builder = JudgeCallBuilder(settings)
        self._ledger = ledger
        self._counted = counted
        self._samples: dict[str, Sequence[dict[str, str]]] = {}

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Answer from the ledger, or with a `JudgeError` for a call that would be made."""
        call = self._builder.of(request, origin)
        digest = call.digest
        stored = self._ledger.find(digest)
        future: Future[Any] = Future()
        if stored is None or stored.is_lost:
            if digest not in self._counted:
                self._counted.add(digest)
                self.missing.add(digest)
            if len(self._samples) < TOKEN_SAMPLE:
                self._samples.setdefault(digest, call.messages)
            self.origins[origin._replace(step=0, member=0, replicate=0, turn=0)] += 1
            future.set_exception(JudgeError(PLANNED))
            return future
        self.held.add(digest)
        complete(future, to_reply(stored, request))
        return future

    def cost(self, calls: int, tokens_out: float | None = None) -> CostEstimate:
        """Estimate the cost of calls like the missing ones.

        Args:
            calls: The number of calls.
            tokens_out: The mean number of tokens of stored replies; None if there are none.
        """
        if not calls or not self._samples:
            return CostEstimate(tokens_in=0, tokens_out=0, usd=0.0)
        counted = [count_tokens(self._settings.model, shown) for shown in self._samples.values()]
        each = sum(counted) / len(counted)
        tokens_in = round(each * calls)
        replies = round((tokens_out or REPLY_TOKENS) * calls)
        usd = prices_of(self._settings).usd(tokens_in, replies)
        return CostEstimate(tokens_in=tokens_in, tokens_out=replies, usd=usd)


class DryRunModel:
    """A model for dry runs that computes nothing."""

    identity = PLANNED

    def unavailable_reason(self) -> str | None:
        """Return None: a dry run needs no model."""
        return None

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        """Answer each request with a reason."""
        return [JudgeError(PLANNED) for _ in requests]
