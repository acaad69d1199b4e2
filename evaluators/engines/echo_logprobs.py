"""Echoed prompts: a text that a server returns with the log-probabilities of its tokens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluators.outcome import JudgeError, Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence


_ROUNDING = 1e-3
"""The rounding error by which a log-probability may exceed 0."""


class Echo(NamedTuple):
    """The tokens of a prompt and of its completion.

    Attributes:
        tokens: The texts of the tokens.
        logprobs: Their natural log-probabilities; None where a token has none.
        offsets: Where they begin, in characters of the prompt.
    """

    tokens: Sequence[str]
    logprobs: Sequence[float | None]
    offsets: Sequence[int]

    @classmethod
    def of(cls, reply: Any) -> Echo:
        """Parse a reply of a text completion API.

        Raises:
            JudgeError: The reply has no log-probabilities of the prompt's tokens.
        """
        choices = getattr(reply, "choices", None) or [None]
        found = getattr(choices[0], "logprobs", None)
        columns = [_column(found, name) for name in ("tokens", "token_logprobs", "text_offset")]
        tokens, logprobs, offsets = columns
        if not tokens or len(tokens) != len(logprobs) or len(tokens) != len(offsets):
            raise JudgeError("the server gives no log-probabilities of the text it was sent")
        return cls(tokens, logprobs, offsets)

    def text(self, length: int) -> str:
        """Return the echoed text, up to a number of characters."""
        return "".join(self.tokens)[:length]

    def scored(self, prefix: str, continuation: str) -> list[float]:
        """Return the log-probabilities of the tokens that end within the continuation.

        A token that begins in the prefix and ends in the continuation counts.

        Raises:
            Undefined: No token of the continuation has a log-probability.
            JudgeError: A value is above 0 or NaN.
        """
        whole = len(prefix) + len(continuation)
        rows = zip(self.tokens, self.logprobs, self.offsets, strict=True)
        found = [
            logprob
            for token, logprob, offset in rows
            if offset + len(token) > len(prefix) and offset < whole and logprob is not None
        ]
        if not found:
            raise Undefined("the text has no token with a probability")
        if any(not value <= _ROUNDING for value in found):
            raise JudgeError("the server gave a token a log-probability above 0, or none (NaN)")
        return [float(value) for value in found]


def find_fault(prefix: str, *echoes: tuple[str, Echo]) -> str | None:
    """Return what is wrong with the echoes of a fluent and of a scrambled text, or None.

    A server that scores given texts returns the prompt and a log-probability for every token but
    the first. None is above 0, not all are equal, and fluent words are more likely than scrambled
    ones.
    """
    means = []
    for continuation, echo in echoes:
        whole = prefix + continuation
        if echo.text(len(whole)) != whole:
            return "it does not send back the text that it was given"
        given = [
            value
            for value, offset in zip(echo.logprobs, echo.offsets, strict=True)
            if offset < len(whole)
        ]
        values = [value for value in given if value is not None]
        if len(values) < len(given) - 1:
            return "most tokens of a given text have no log-probability"
        if any(not value <= 0 for value in values) or len(set(values)) == 1:
            return "its log-probabilities are above 0 or all the same"
        scored = echo.scored(prefix, continuation)
        means.append(math.fsum(scored) / len(scored))
    fluent, scrambled = means
    return None if fluent > scrambled else "it finds scrambled words likelier than fluent ones"


def _column(found: Any, name: str) -> list[Any]:
    value = found.get(name) if isinstance(found, dict) else getattr(found, name, None)
    return list(value or ())
