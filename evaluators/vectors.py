"""Vectors: how near two texts are by what an embedding model makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.outcome import Undefined

if TYPE_CHECKING:
    import numpy as np


def cosine(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """The cosine of two vectors of length 1: their dot product, from -1 to 1.

    Raises:
        Undefined: When one is zero, which is the vector of a text without words.
    """
    if not (one.any() and other.any()):
        raise Undefined("a text without words has no direction")
    # Rounding of float32 may carry the product of two equal vectors a little beyond 1.
    return max(-1.0, min(1.0, float(one.astype("float64") @ other.astype("float64"))))
