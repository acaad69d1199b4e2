"""Likelihoods: the average negative log-likelihood of a text."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LOG_SMALLEST = math.log(1.401298464324817e-45)
"""The logarithm of the smallest positive float32, which replaces a probability of 0."""


def average_negative(logprobs: Sequence[float]) -> float:
    """Return the mean negative log-probability: 0 for a certain text, higher for unlikely ones.

    Args:
        logprobs: Natural logarithms, at least one.
    """
    # Rounding may leave a certain token a little above 0.
    return max(0.0, -math.fsum(max(value, LOG_SMALLEST) for value in logprobs) / len(logprobs))


def count_zeros(logprobs: Sequence[float]) -> int:
    """Count the tokens with probability 0 in float32."""
    return sum(value < LOG_SMALLEST for value in logprobs)
