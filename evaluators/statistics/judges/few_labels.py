"""What few labels leave open: outcomes that were not seen, and labels that are not independent.

Ten labels on which judge and human agree do not show that they always agree. Intervals therefore
count half a label more for each combination of the two, at the ends of the scale, and use Student's
t. Dependent labels count as fewer.

Source: Agresti and Min, "Simple improved confidence intervals for comparing matched proportions",
2005, for pass/fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers

ADDED = 0.5
"""The labels added for each combination of human and judge, as a prior (Jeffreys)."""

CORNERS = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
"""The combinations: judge and human, on a scale from 0 to 1."""


def number_clusters(clusters: Integers | None, samples: int) -> Integers:
    """Return the cluster of each sample, numbered from 0 without gaps; None: each is its own."""
    if clusters is None:
        return np.arange(samples)
    return np.unique(clusters, return_inverse=True)[1].astype(np.int64)


def scale_weights(weights: Floats) -> Floats:
    """Return weights whose sum is the number of equal ones with the same information.

    All are 1 if they are equal.

    Source: Kish 1965.
    """
    squares = float((weights**2).sum())
    scaled: Floats = weights * (float(weights.sum()) / squares) if squares else weights
    return scaled


def t_factor(effective: float, added: float = 1.0) -> float:
    """Return the quantile of Student's t for this many independent labels and the added ones.

    Args:
        effective: The number of independent labels.
        added: The weight of an added label, as a share of an independent one. The four half labels
            are two labels.
    """
    from scipy.special import stdtrit

    return float(stdtrit(effective - 1 + 2 * added, 0.5 + CONFIDENCE / 2))


def design_effect(clustered: float, independent: float, largest: float) -> float:
    """Return how many times as large clusters make a variance, from 1 to `largest`.

    Args:
        clustered: The variance with clusters.
        independent: The variance if all labels were independent; 0 shows nothing: `largest`.
        largest: The effect if all labels of a cluster were equal (labels per effective cluster).
    """
    if independent <= 0:
        return largest
    return min(largest, max(1.0, clustered / independent))
