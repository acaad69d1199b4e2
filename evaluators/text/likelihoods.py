"""Likelihoods: what is made of the log-probabilities of a text's tokens."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LOG_SMALLEST = math.log(1.401298464324817e-45)
"""The logarithm of the smallest number above 0 that float32 knows: a probability of 0 is taken for
it, because nothing smaller can be told from it."""


def average_negative(logprobs: Sequence[float]) -> float:
    """The mean of the negative log-probabilities: 0 for a certain text, higher for unlikely ones.

    Args:
        logprobs: Natural logarithms, at least one.
    """
    # Rounding may leave a certain token a little above 0.
    return max(0.0, -math.fsum(max(value, LOG_SMALLEST) for value in logprobs) / len(logprobs))


def count_zeros(logprobs: Sequence[float]) -> int:
    """How many tokens have the probability 0, as far as float32 can tell."""
    return sum(value < LOG_SMALLEST for value in logprobs)
