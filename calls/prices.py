"""Costs: the prices of a model, and the number of tokens of messages."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from calls.completion import is_token_count
from calls.litellm_model import litellm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calls.completion import Message

_MILLION = 1_000_000

REPLY_TOKENS = 250
"""The assumed tokens of a reply as long as no reply has been seen."""


class OwnPrices(Protocol):
    """Prices of a configuration, in US dollars per million tokens; None if it gives none."""

    @property
    def usd_per_million_in(self) -> float | None:
        """Input tokens."""

    @property
    def usd_per_million_out(self) -> float | None:
        """Output tokens."""

    @property
    def usd_per_million_cache_read(self) -> float | None:
        """Input tokens that the provider read from its cache."""

    @property
    def usd_per_million_cache_write(self) -> float | None:
        """Input tokens that it wrote to its cache."""


class CachedTokens(NamedTuple):
    """The input tokens of a completion that a cache has to do with; the others have neither.

    Attributes:
        read: Tokens that the provider read from its cache.
        written: Tokens that it wrote to its cache.
    """

    read: int = 0
    written: int = 0


_NONE_CACHED = CachedTokens()


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one model, in US dollars per token; None if unknown.

    Attributes:
        model: The model's name in LiteLLM.
        tokens_in: Input tokens that no cache has to do with.
        tokens_out: Output tokens.
        own: Whether the configuration gives them.
        cache_read: Input tokens read from a cache; None: like others.
        cache_write: Input tokens written to a cache; None: like others.
    """

    model: str
    tokens_in: float | None
    tokens_out: float | None
    own: bool
    cache_read: float | None = None
    cache_write: float | None = None

    @classmethod
    def of_model(cls, model: str, given: OwnPrices) -> Prices:
        """Return the prices given, or those of LiteLLM's table."""
        if given.usd_per_million_in is not None and given.usd_per_million_out is not None:
            return cls(
                model,
                given.usd_per_million_in / _MILLION,
                given.usd_per_million_out / _MILLION,
                own=True,
                cache_read=_per_token(given.usd_per_million_cache_read),
                cache_write=_per_token(given.usd_per_million_cache_write),
            )
        return cls.listed(model)

    @classmethod
    def listed(cls, model: str) -> Prices:
        """Return the prices of LiteLLM's table."""
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

    def usd(
        self, tokens_in: int, tokens_out: int, cached: CachedTokens = _NONE_CACHED
    ) -> float | None:
        """Return the cost of tokens; None if the prices are unknown."""
        if self.tokens_in is None or self.tokens_out is None:
            return None
        read = self.tokens_in if self.cache_read is None else self.cache_read
        write = self.tokens_in if self.cache_write is None else self.cache_write
        plain = tokens_in - cached.read - cached.written
        return (
            plain * self.tokens_in
            + cached.read * read
            + cached.written * write
            + tokens_out * self.tokens_out
        )

    def most_usd(self, tokens_in: int, tokens_out: int) -> float | None:
        """Return the most that tokens cost, whatever a cache does; None if unknown."""
        cached = (CachedTokens(), CachedTokens(read=tokens_in), CachedTokens(written=tokens_in))
        costs = [self.usd(tokens_in, tokens_out, each) for each in cached]
        return max((cost for cost in costs if cost is not None), default=None)

    def charged(self, usage: Any) -> float | None:
        """Return the cost of one completion, with the prices of cached tokens; None if unknown.

        All input tokens have the same price if the provider's details make no sense.
        """
        if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        if self.own:
            cached = find_cached_tokens(usage)
            return self.usd(usage.prompt_tokens, usage.completion_tokens, cached)
        plain = self.usd(usage.prompt_tokens, usage.completion_tokens)
        if plain is None:
            return None
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


def find_cached_tokens(usage: Any) -> CachedTokens:
    """Return the cached tokens in LiteLLM's usage object, which counts them as input tokens, too.

    None are if the provider reports none, or more than there are.
    """
    details = getattr(usage, "prompt_tokens_details", None)
    read = getattr(details, "cached_tokens", None)
    written = getattr(details, "cache_creation_tokens", None)
    if read is None:
        read = getattr(usage, "cache_read_input_tokens", None)
    if written is None:
        written = getattr(usage, "cache_creation_input_tokens", None)
    counts = [0 if each is None else each for each in (read, written)]
    if not all(map(is_token_count, counts)) or sum(counts) > usage.prompt_tokens:
        return CachedTokens()
    return CachedTokens(*map(int, counts))


def _per_token(usd_per_million: float | None) -> float | None:
    return None if usd_per_million is None else usd_per_million / _MILLION


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
