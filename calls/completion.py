"""Messages to models and their completions, for judges and for systems under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from calls.errors import BadAnswer

Message: TypeAlias = "dict[str, str]"

_MOST_TOKENS = 100_000_000
"""Ten times the largest context window of today."""


class TokenLogprob(NamedTuple):
    """A token and its natural log-probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The completion of a model.

    Attributes:
        text: The text, if there is one; without the key, which some servers repeat.
        finish: Why the model stopped (`stop`, `length`, `content_filter`, ...).
        refusal: The text of a refusal, from providers that have a field for it.
        tokens_in: Tokens of the messages; None if not reported.
        tokens_out: Tokens of the reply; None if not reported.
        usage: The provider's usage object, to compute the cost.
        served_by: The provider's model name and fingerprint.
        top_logprobs: The likeliest tokens of each position, as listed by the server; None if it
            sent none. A list may lack the token that was generated.
        first_token_s: Seconds until the first token, if the completion was streamed.
        seconds: Seconds from the request to the completion; None if it was not measured.
    """

    text: str | None
    finish: str | None
    refusal: str | None
    tokens_in: int | None
    tokens_out: int | None
    usage: Any
    served_by: str
    top_logprobs: tuple[tuple[TokenLogprob, ...], ...] | None = None
    first_token_s: float | None = None
    seconds: float | None = None


def is_token_count(count: object) -> bool:
    """Return whether a provider's number of tokens is one."""
    if isinstance(count, bool) or not isinstance(count, int | float):
        return False
    return 0 <= count <= _MOST_TOKENS and count == int(count)


def check_token_count(name: str, count: object) -> None:
    """Raise `BadAnswer` if a provider's number of tokens is none; None is unknown."""
    if count is not None and not is_token_count(count):
        found = count if isinstance(count, int | float) else type(count).__name__
        raise BadAnswer(f"usage.{name} is {found}, which is not a number of tokens")
