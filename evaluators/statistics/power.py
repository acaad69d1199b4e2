"""The power of paired comparisons: detectable differences, and how many questions they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.permutation_test import least_p

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers

POWER = 0.8
"""The power for the smallest detectable difference."""

MOST_CLUSTERS = 10**9
"""More clusters than this are not proposed."""


def detectable_difference(
    errors: Floats,
    clusters: Integers | Floats,
    degrees: Floats,
    *,
    tests: int | Integers,
    is_mcnemar: Booleans | bool = False,
) -> Floats:
    """Return the smallest true difference that a comparison detects with a power of 80 %.

    This is Student's t for two-sided tests at the level that Holm's adjustment gives the most
    significant pair. Two corrections make it hold for few questions:

    * McNemar's exact test needs one more differing question.
    * With few clusters, the sign-flip test needs nearly all differences in one direction. If only
      one sign pattern (and its mirror image) is significant, all must have it; the correction for
      normal differences shrinks with the number of significant patterns.

    In simulations the power is 0.75 to 0.87 for 6 or more clusters.

    Args:
        errors: The standard errors of the differences.
        clusters: The number of clusters.
        degrees: The degrees of freedom of the standard errors.
        tests: The number of tests in the family of Holm's adjustment, of all pairs or by pair.
        is_mcnemar: Whether McNemar's test compares the pair.

    Returns:
        NaN where no outcome could be significant, or where no variation is seen.

    Source: Miller, arXiv 2411.00640, section 5, with t instead of normal quantiles.
    """
    from scipy.special import ndtri, stdtrit

    level = LEVEL / np.maximum(1, tests)
    clusters = np.asarray(clusters, dtype=np.float64)
    is_possible = (least_p(clusters) < level) & (errors > 0) & (degrees > 0)
    count = np.where(is_possible, clusters, np.nan)
    degrees = np.where(is_possible, degrees, np.nan)
    by_t = (stdtrit(degrees, 1 - level / 2) + stdtrit(degrees, POWER)) * errors
    # The power is 80 % if each of the normal differences is positive with this probability.
    all_positive = ndtri(POWER ** (1 / count)) * errors * np.sqrt(count)
    with np.errstate(over="ignore"):
        patterns = np.floor(level * np.exp2(count - 1))
    by_signs = by_t + np.maximum(0.0, all_positive - by_t) / patterns
    found: Floats = np.where(is_mcnemar, by_t + 1 / count, by_signs)
    return found


def clusters_needed(
    difference: float,
    errors: Floats,
    clusters: Integers,
    degrees: Floats,
    *,
    tests: int,
    is_mcnemar: Booleans | bool = False,
) -> Integers:
    """Return how many clusters a true difference takes to be detected with a power of 80 %.

    The new clusters are assumed to be like the present ones.

    Args:
        difference: The true difference, positive.
        errors: The standard errors of the differences with the present clusters.
        clusters: The number of present clusters.
        degrees: The degrees of freedom of the standard errors.
        tests: The number of tests in the family of Holm's adjustment.
        is_mcnemar: Whether McNemar's test compares the pairs.

    Returns:
        One number for each pair; 0 where it is unknown, because no variation is seen, or more than
        `MOST_CLUSTERS`.
    """
    spread = errors * np.sqrt(clusters)
    per_cluster = degrees / np.maximum(1, clusters - 1)

    def is_enough(count: Integers) -> Booleans:
        found = detectable_difference(
            spread / np.sqrt(count),
            count,
            per_cluster * (count - 1),
            tests=tests,
            is_mcnemar=is_mcnemar,
        )
        enough: Booleans = found <= difference
        return enough

    low = np.ones(len(errors), dtype=np.int64)
    high = np.full(len(errors), MOST_CLUSTERS)
    is_known = is_enough(high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        enough = is_enough(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.where(is_known, high, 0)
