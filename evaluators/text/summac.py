"""SummaC: scores from the entailment between each sentence of a source and of its summary.

Source: Laban et al., "SummaC: re-visiting NLI-based models for inconsistency detection in
summarization", 2022, and its code.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

EDGES = (
    *(0.0, 0.01, 0.02, 0.03, 0.04, 0.07, 0.13, 0.37),
    *(0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96),
    *(0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 1.0),
)
"""The edges of the bins of the published histogram; the last bin is closed."""
BINS = len(EDGES) - 1
WEIGHTS = BINS + 1 + 6 + 2
"""The number of weights of the convolution: a layer from the bins to 1, and one from 3 to 2."""
_FIRST = 10
"""The sentences of the summary that the convolution uses."""


def zero_shot(entailment: np.ndarray[Any, Any]) -> float:
    """Return SummaC ZS without contradiction: the mean of the largest entailments, from 0 to 1.

    Args:
        entailment: One row per sentence of the source, one column per sentence of the summary.
    """
    return float(entailment.max(axis=0).mean())


def zero_shot_published(
    entailment: np.ndarray[Any, Any], contradiction: np.ndarray[Any, Any]
) -> float:
    """Return the published SummaC ZS: entailment minus contradiction (largest), from -1 to 1."""
    return float((entailment.max(axis=0) - contradiction.max(axis=0)).mean())


def convolution(entailment: np.ndarray[Any, Any], weights: Sequence[float]) -> float:
    """Return SummaC Conv: a learned layer over the histograms of entailments.

    Args:
        entailment: As for `zero_shot`.
        weights: The first layer's 23 weights and its bias; the second layer's two rows of 3
            weights and its 2 biases.
    """
    import numpy as np

    first, bias = np.asarray(weights[:BINS]), weights[BINS]
    rows = np.asarray(weights[BINS + 1 : BINS + 7]).reshape(2, 3)
    shifts = weights[BINS + 7 : WEIGHTS]
    values = [
        float(np.histogram(column, bins=EDGES)[0] @ first) + bias
        for column in entailment.T[:_FIRST]
    ]
    mean = math.fsum(values) / len(values)
    logits = [float(row.sum()) * mean + shift for row, shift in zip(rows, shifts, strict=True)]
    # The softmax of two: the second's share.
    try:
        return 1 / (1 + math.exp(logits[0] - logits[1]))
    except OverflowError:
        return 0.0
