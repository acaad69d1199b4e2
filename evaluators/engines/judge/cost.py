"""Prices: what calls cost, what they may cost at most, and a budget that holds."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.errors import BadJudgeSettings
from evaluators.engines.judge.litellm_call import litellm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.prompt import Message

_MILLION = 1_000_000

_COUNT_MARGIN = 1.25
"""Not every model's tokenizer is at hand; a budget allows for a fourth more than was counted."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one model, in US dollars a token; None where not known."""

    model: str
    tokens_in: float | None
    tokens_out: float | None
    own: bool

    @classmethod
    def of(cls, settings: JudgeSettings) -> Prices:
        """The prices that the settings give, else those of LiteLLM's table, else 0 if recorded."""
        given = (settings.usd_per_million_in, settings.usd_per_million_out)
        if settings.recording is not None:
            return cls(settings.name, 0.0, 0.0, own=True)
        if given[0] is not None and given[1] is not None:
            return cls(settings.model, given[0] / _MILLION, given[1] / _MILLION, own=True)
        if given != (None, None):
            raise BadJudgeSettings(
                "the judge's price: usd_per_million_in and usd_per_million_out go together"
            )
        info = _listed(settings.model)
        if info is None:
            return cls(settings.model, None, None, own=False)
        return cls(
            settings.model,
            info.get("input_cost_per_token"),
            info.get("output_cost_per_token"),
            own=False,
        )

    @property
    def known(self) -> bool:
        """Whether a price can be told."""
        return self.tokens_in is not None and self.tokens_out is not None

    def usd(self, tokens_in: int, tokens_out: int) -> float | None:
        """The price of so many tokens; None where it is not known."""
        if self.tokens_in is None or self.tokens_out is None:
            return None
        return tokens_in * self.tokens_in + tokens_out * self.tokens_out

    def charged(self, usage: Any) -> float | None:
        """What one answer cost, discounts for cached tokens included; None if not known."""
        if usage is None or not self.known:
            return None
        if self.own:
            return self.usd(usage.prompt_tokens, usage.completion_tokens)
        paid_in, paid_out = litellm().cost_per_token(
            model=self.model,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            usage_object=usage,
        )
        return float(paid_in + paid_out)


def count_tokens(
    model: str, messages: Sequence[Message], schema: Mapping[str, Any] | None = None
) -> int:
    """The tokens of messages, and of a schema that the model is held to.

    Counted by the tokenizer that LiteLLM has for the model, or else by that of older GPT models.
    """
    count = litellm().token_counter
    tokens = int(count(model=model, messages=[*messages]))
    return tokens if schema is None else tokens + int(count(model=model, text=json.dumps(schema)))


def _listed(model: str) -> Mapping[str, Any] | None:
    """What LiteLLM's table says of a model."""
    library = litellm()
    try:
        info: Mapping[str, Any] = library.get_model_info(model)
    except library.exceptions.ModelNotMappedError:
        return None
    return info


class Budget:
    """A hard total for a run, in US dollars; used on one event loop.

    Before a call its largest possible price is set aside. A call that does not fit waits for those
    under way to be settled, and is refused once none of them is left to wait for.

    Attributes:
        spent_usd: What was spent so far.
    """

    def __init__(self, total: float | None) -> None:
        """Take the total; None is no limit."""
        self._total = total
        self.spent_usd = 0.0
        self._set_aside = 0.0
        self._settled = asyncio.Condition()

    @property
    def limited(self) -> bool:
        """Whether there is a limit."""
        return self._total is not None

    async def reserve(self, most: float) -> bool:
        """Set the largest possible price of a call aside; False: it does not fit."""
        if self._total is None:
            return True
        async with self._settled:
            while self.spent_usd + self._set_aside + most > self._total:
                if self._set_aside == 0 or self.spent_usd + most > self._total:
                    return False
                await self._settled.wait()
            self._set_aside += most
        return True

    async def settle(self, most: float, spent: float) -> None:
        """Put in the real price for the one that was set aside."""
        async with self._settled:
            self.spent_usd += spent
            # Sums of floats leave a crumb, which would be waited for forever.
            self._set_aside = max(0.0, self._set_aside - most)
            if self._set_aside < most / _MILLION:
                self._set_aside = 0.0
            self._settled.notify_all()


def most_usd(prices: Prices, tokens_in: int, max_tokens: int) -> float:
    """The largest possible price of a call; 0 where no price is known."""
    return prices.usd(round(tokens_in * _COUNT_MARGIN), max_tokens) or 0.0


def require_price(settings: JudgeSettings, prices: Prices) -> None:
    """Refuse a budget that nobody can hold.

    Raises:
        BadJudgeSettings: There is a budget but no price.
    """
    if settings.budget_usd is not None and not prices.known:
        raise BadJudgeSettings(
            f"judge.budget_usd cannot be held: no price is known for {settings.model!r}; give "
            "judge.usd_per_million_in and judge.usd_per_million_out (0 for a model of your own)"
        )
