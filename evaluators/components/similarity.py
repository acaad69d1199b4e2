"""Similarity: cosines between the embeddings of texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from evaluators.flows.requests import EMBEDDING
from evaluators.kinds.flow import FlowEvaluator
from evaluators.outcome import Undefined
from evaluators.text.sentences import SPLITTER, check_language

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from evaluators.metric import Metric

_BLOCK = 256


@dataclass(frozen=True, kw_only=True)
class SimilarityEvaluator(FlowEvaluator):
    """Compares embeddings; its metrics are cosines.

    Attributes:
        scale: The scale of the metrics: `cosine` is from -1 to 1; with `unit`, the source's scale
            from 0 to 1, a negative value is 0.
    """

    scale: Literal["cosine", "unit"] = "cosine"

    def measured(self) -> tuple[Metric, ...]:
        """Return the metrics with the bounds of the scale."""
        if self.scale == "cosine":
            return self.metrics
        return tuple(replace(metric, bounds=(0.0, 1.0)) for metric in self.metrics)

    def scaled(self, value: float) -> float:
        """Return a cosine on the scale."""
        return max(0.0, value) if self.scale == "unit" else value


@dataclass(frozen=True, kw_only=True)
class SentenceSimilarityEvaluator(SimilarityEvaluator):
    """Compares the embeddings of sentences.

    Attributes:
        language: The language code of the sentence splitter.
    """

    libraries = (SPLITTER,)
    needs = frozenset({EMBEDDING})

    language: str = "en"

    def __post_init__(self) -> None:
        """Validate the language code."""
        check_language(self.language)


def cosines(
    texts: Sequence[np.ndarray[Any, Any]], others: Sequence[np.ndarray[Any, Any]]
) -> np.ndarray[Any, Any]:
    """Return the cosine of every text with every other: a float64 matrix, one row per text.

    Vectors are normalised again in float64: in float32, products of equal vectors exceed 1 by more
    than the tolerance of `scoring`. The vector of a blank text is 0; its cosines are 0.
    """
    found: np.ndarray[Any, Any] = _unit_vectors(texts) @ _unit_vectors(others).T
    return found


def cosine(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """Return the cosine of two texts.

    Raises:
        Undefined: One vector is 0: a text without words.
    """
    if not (one.any() and other.any()):
        raise Undefined("a text without words has no direction")
    return float(cosines([one], [other])[0, 0])


def nearest_neighbours(
    texts: Sequence[np.ndarray[Any, Any]], others: Sequence[np.ndarray[Any, Any]]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return each text's largest cosine with one of the others, and the position of that one."""
    import numpy as np

    # In blocks: two documents of ten thousand sentences have a hundred million cosines.
    units = _unit_vectors(others)
    values, positions = np.empty(len(texts)), np.empty(len(texts), dtype=np.int64)
    for start in range(0, len(texts), _BLOCK):
        block = slice(start, start + _BLOCK)
        found = _unit_vectors(texts[block]) @ units.T
        values[block], positions[block] = found.max(axis=1), found.argmax(axis=1)
    return values, positions


def _unit_vectors(vectors: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    import numpy as np

    stacked = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(stacked, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    unit: np.ndarray[Any, Any] = stacked / lengths
    return unit
