"""Similarity: how near texts are to others, by the vectors that an embedding model gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

_BLOCK = 256


def cosines(
    texts: Sequence[np.ndarray[Any, Any]], others: Sequence[np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """The cosine of every text with every other: a matrix of float64, one row a text.

    Vectors are brought to length 1 once more in float64, because the rounding of float32 carries
    products of equal vectors beyond 1 by more than scoring forgives. The vector of a blank text
    is 0 and has the cosine 0 with everything.
    """
    found: np.ndarray[Any, Any] = _unit_vectors(texts) @ _unit_vectors(others).T
    return found


def cosine(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """The cosine of two texts.

    Raises:
        Undefined: When one has the vector 0, which is that of a text without words.
    """
    if not (one.any() and other.any()):
        raise Undefined("a text without words has no direction")
    return float(cosines([one], [other])[0, 0])


def nearest_neighbours(
    texts: Sequence[np.ndarray[Any, Any]], others: Sequence[np.ndarray[Any, Any]]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """For each text, its largest cosine with one of the others, and the place of that one."""
    import numpy as np

    # In blocks: two documents of ten thousand sentences have a hundred million cosines.
    units = _unit_vectors(others)
    values, places = np.empty(len(texts)), np.empty(len(texts), dtype=np.int64)
    for start in range(0, len(texts), _BLOCK):
        block = slice(start, start + _BLOCK)
        found = _unit_vectors(texts[block]) @ units.T
        values[block], places[block] = found.max(axis=1), found.argmax(axis=1)
    return values, places


def _unit_vectors(vectors: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    import numpy as np

    stacked = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(stacked, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit: np.ndarray[Any, Any] = stacked / lengths
    return unit
