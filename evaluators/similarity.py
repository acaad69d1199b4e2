"""Similarity: how near texts are to others, by the vectors that an embedding model gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


def cosines(
    texts: Sequence[np.ndarray[Any, Any]], others: Sequence[np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """The cosine of every text with every other: a matrix of float64, one row a text.

    Vectors are brought to length 1 once more in float64, because the rounding of float32 carries
    products of equal vectors beyond 1 by more than scoring forgives. The vector of a blank text
    is 0 and has the cosine 0 with everything.
    """
    found: np.ndarray[Any, Any] = _unit(texts) @ _unit(others).T
    return found


def _unit(vectors: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    import numpy as np

    stacked = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(stacked, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit: np.ndarray[Any, Any] = stacked / lengths
    return unit
