"""Costs: the prices of a model, and the number of tokens of messages."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.errors import BadJudgeSettings
from evaluators.engines.model_call import litellm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.prompt import Message

_MILLION = 1_000_000

REPLY_TOKENS = 250
"""The assumed tokens of a reply as long as no reply has been seen."""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one model, in US dollars per token; None if unknown."""

    model: str
    tokens_in: float | None
    tokens_out: float | None
    own: bool

    @classmethod
    def of(cls, settings: JudgeSettings) -> Prices:
        """Return the prices of the settings or of LiteLLM's table; 0 for a replay file."""
        if settings.recording is not None:
            return cls(settings.name, 0.0, 0.0, own=True)
        given = (settings.usd_per_million_in, settings.usd_per_million_out)
        if given.count(None) == 1:
            raise BadJudgeSettings(
                "the judge's price: usd_per_million_in and usd_per_million_out go together"
            )
        return cls.of_model(settings.model, *given)

    @classmethod
    def of_model(
        cls, model: str, usd_per_million_in: float | None, usd_per_million_out: float | None
    ) -> Prices:
        """Return the prices given, or those of LiteLLM's table."""
        if usd_per_million_in is not None and usd_per_million_out is not None:
            per_token = (usd_per_million_in / _MILLION, usd_per_million_out / _MILLION)
            return cls(model, *per_token, own=True)
        info = find_model_info(model)
        if info is None:
            return cls(model, None, None, own=False)
        return cls(
            model, info.get("input_cost_per_token"), info.get("output_cost_per_token"), own=False
        )

    @property
    def known(self) -> bool:
        """Whether the prices are known."""
        return self.tokens_in is not None and self.tokens_out is not None

    def usd(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the cost of tokens; None if the prices are unknown."""
        if self.tokens_in is None or self.tokens_out is None:
            return None
        return tokens_in * self.tokens_in + tokens_out * self.tokens_out

    def charged(self, usage: Any) -> float | None:
        """Return the cost of one completion, with discounts for cached tokens; None if unknown.

        Without discounts if the provider's details make no sense.
        """
        if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        plain = self.usd(usage.prompt_tokens, usage.completion_tokens)
        if plain is None or self.own:
            return plain
        try:
            paid_in, paid_out = litellm().cost_per_token(
                model=self.model,
                prompt_tokens=usage.prompt_tokens,
                completion_tokens=usage.completion_tokens,
                usage_object=usage,
            )
        except Exception:  # noqa: BLE001 - the details are whatever the provider wrote
            return plain
        paid = float(paid_in + paid_out)
        return paid if math.isfinite(paid) and paid >= 0 else plain


def count_tokens(
    model: str, messages: Sequence[Message], schema: Mapping[str, Any] | None = None
) -> int:
    """Count the tokens of messages and, if there is one, of the reply's schema.

    This uses LiteLLM's tokenizer for the model, or else the one of older GPT models.
    """
    count = litellm().token_counter
    tokens = int(count(model=model, messages=[*messages]))
    return tokens if schema is None else tokens + int(count(model=model, text=json.dumps(schema)))


def find_model_info(model: str) -> Mapping[str, Any] | None:
    """Return the entry of a model in LiteLLM's table, or None."""
    library = litellm()
    try:
        info: Mapping[str, Any] = library.get_model_info(model)
    except library.exceptions.ModelNotMappedError:
        return None
    return info


def require_price(settings: JudgeSettings, prices: Prices) -> None:
    """Check that a budget comes with known prices.

    Raises:
        BadJudgeSettings: There is a budget but no price.
    """
    if settings.budget_usd is not None and not prices.known:
        raise BadJudgeSettings(
            f"judge.budget_usd cannot be enforced: no price is known for {settings.model!r}; set "
            "judge.usd_per_million_in and judge.usd_per_million_out (0 for a local model)"
        )
