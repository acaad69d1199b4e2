"""Option letters: their probabilities in the list of likeliest tokens of a completion."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from systems.client import WrongShape

if TYPE_CHECKING:
    from collections.abc import Sequence

LETTERS: Final = string.ascii_uppercase

_ROUNDING: Final = 1e-3
"""By how much probabilities may exceed 1: servers round, and some compute in half precision."""


def spellings(letter: str) -> tuple[str, str]:
    """Return the tokens that stand for a letter: alone, and after a space."""
    return letter, f" {letter}"


@dataclass(frozen=True, slots=True)
class OptionProbabilities:
    """The probabilities of the options.

    Attributes:
        values: A probability per option; an upper bound for those in `bounded`.
        bounded: Whether the option's letter is missing from the list, per option.
    """

    values: tuple[float, ...]
    bounded: tuple[bool, ...]


def read_letters(listed: Sequence[tuple[str, float]], count: int) -> OptionProbabilities:
    """Read the probabilities of the first letters from the likeliest tokens of one position.

    The probability of `A` is the sum over the tokens `A` and ` A`, as far as they are listed. If
    neither is, the probability is unknown: it is at most that of the least likely token in the
    list, and at most what the listed tokens leave. The smaller of the two bounds is its value.

    Args:
        listed: Tokens with natural logarithms of their probabilities, in any order.
        count: The number of options, from 1 to 26.

    Raises:
        WrongShape: The list is empty, or is not part of a probability distribution.
    """
    if not listed:
        raise WrongShape(
            "the reply has no log-probabilities of likely tokens (`top_logprobs`), which the task "
            "needs: the server or model does not provide them"
        )
    weights = [math.exp(min(logprob, 1.0)) for _, logprob in listed]
    total = math.fsum(weights)
    if not total <= 1 + _ROUNDING:
        raise WrongShape(
            "expected log-probabilities of tokens whose probabilities sum to at most 1, found "
            f"{len(listed)} tokens with the sum {total:.4g}"
        )
    # Rounding may leave a little less than nothing.
    bound = max(0.0, min(*weights, 1 - total))
    values, bounded = [], []
    for letter in LETTERS[:count]:
        tokens = spellings(letter)
        found = [
            weight for (token, _), weight in zip(listed, weights, strict=True) if token in tokens
        ]
        values.append(math.fsum(found) if found else bound)
        bounded.append(not found)
    return OptionProbabilities(tuple(values), tuple(bounded))


def rotate_back(read: OptionProbabilities, shift: int) -> OptionProbabilities:
    """Return the probabilities in the order of the question.

    Args:
        read: In the order that was shown: position `p` showed option `(p + shift) % n`.
        shift: By how many options the order was rotated.
    """
    count = len(read.values)
    places = [(option - shift) % count for option in range(count)]
    return OptionProbabilities(
        tuple(read.values[place] for place in places),
        tuple(read.bounded[place] for place in places),
    )


def mean_of_orders(orders: Sequence[OptionProbabilities]) -> OptionProbabilities:
    """Return the mean probability of each option; it is a bound if one of its values is."""
    options = range(len(orders[0].values))
    return OptionProbabilities(
        tuple(math.fsum(order.values[at] for order in orders) / len(orders) for at in options),
        tuple(any(order.bounded[at] for order in orders) for at in options),
    )


def logarithms(values: Sequence[float]) -> list[float | None]:
    """Return natural logarithms, None for a probability of 0."""
    return [math.log(value) if value > 0 else None for value in values]
