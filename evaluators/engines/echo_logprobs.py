"""Echoes: a text that a server sent back with the log-probabilities of its tokens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluators.outcome import JudgeError, Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence


_ROUNDING = 1e-3
"""How far rounding may carry the log-probability of a certain token above 0."""


class Echo(NamedTuple):
    """The tokens of a prompt and of what was generated after it.

    Attributes:
        tokens: Their texts.
        logprobs: Their natural log-probabilities; None where a token has none.
        offsets: Where they begin, in characters of the prompt.
    """

    tokens: Sequence[str]
    logprobs: Sequence[float | None]
    offsets: Sequence[int]

    @classmethod
    def of(cls, reply: Any) -> Echo:
        """Read a reply of a text completion interface.

        Raises:
            JudgeError: It holds no log-probabilities of given tokens.
        """
        choices = getattr(reply, "choices", None) or [None]
        found = getattr(choices[0], "logprobs", None)
        columns = [_column(found, name) for name in ("tokens", "token_logprobs", "text_offset")]
        tokens, logprobs, offsets = columns
        if not tokens or len(tokens) != len(logprobs) or len(tokens) != len(offsets):
            raise JudgeError("the server gives no log-probabilities of the text it was sent")
        return cls(tokens, logprobs, offsets)

    def text(self, length: int) -> str:
        """The text that was sent back, up to a number of characters."""
        return "".join(self.tokens)[:length]

    def scored(self, prefix: str, continuation: str) -> list[float]:
        """The log-probabilities of the tokens that end within the continuation.

        A token that begins in the prefix and ends in the continuation counts.

        Raises:
            Undefined: No token of it has one.
            JudgeError: One of them is no log-probability.
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
    """What is wrong with the echoes of a fluent and of a scrambled text; None when nothing is.

    A server that scores given texts sends back the prompt, gives every token but the first a
    log-probability, none of them above 0 and not all of them equal, and finds words in their right
    order likelier.
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
