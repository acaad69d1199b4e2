"""The power of paired comparisons: detectable differences, and how many questions they take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.paired_test import find_zeros, quantile_of
from evaluators.statistics.weighted_sums import below_zero_p

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
    reach: Floats,
    *,
    tests: int | Integers,
    least: Floats | float = 0.0,
    pass_fail: Booleans | bool = False,
) -> Floats:
    """Return the smallest true difference that a comparison detects with a power of 80 %.

    The test is that of `paired_test` at the level that Holm's adjustment gives the most significant
    pair. The differences are taken to lie one standard deviation above or below their mean. Four in
    five samples have at least the mean that is then significant.

    Args:
        errors: The standard errors of the differences.
        clusters: The number of clusters.
        degrees: The degrees of freedom of the standard errors.
        reach: The largest difference that an unseen cluster of mean size may have.
        tests: The number of tests in the family of Holm's adjustment, of all pairs or by pair.
        least: The smallest possible p-values.
        pass_fail: Whether the differences are those of passes and failures.

    Returns:
        NaN where no outcome could be significant, or where no variation is seen. A difference above
        the reach does not exist: none is detected with that power.
    """
    from scipy.special import ndtri, stdtrit

    level = np.broadcast_to(LEVEL / np.maximum(1, tests), errors.shape)
    count = np.asarray(clusters, dtype=np.float64)
    possible = np.isfinite(reach) & (np.asarray(least) < level) & (errors > 0) & (degrees > 0)
    which = np.flatnonzero(possible)
    found = np.full(errors.shape, np.nan)
    if not len(which):
        return found
    passes = np.broadcast_to(np.asarray(pass_fail), errors.shape)[which]
    error, count, reach = errors[which], count[which], reach[which]
    spread, target = error * np.sqrt(count), ndtri(level[which] / 2)

    def excess(means: Floats, some: Integers) -> Floats:
        """Return by how much the sample means miss significance, as normal quantiles."""
        p = _sample_p(means, spread[some], count[some], reach[some], passes[some])
        missed: Floats = target[some] - quantile_of(p)
        return missed

    high = np.where(passes, np.minimum(1.0, reach), reach)
    start = np.minimum((reach - target * spread * np.sqrt(count)) / count, high / 2)
    least_mean = find_zeros(excess, (np.zeros(len(which)), high), start, np.sqrt(count) / spread)
    found[which] = least_mean + stdtrit(degrees[which], POWER) * error
    return found


def _sample_p(
    means: Floats, spread: Floats, count: Floats, reach: Floats, passes: Booleans
) -> Floats:
    """Return the one-sided p-values of typical samples with these means."""
    # Passes and failures: gains and losses of 1, as many as the spread takes.
    differing = np.clip(spread**2 + means**2, means, 1.0) * count
    up = np.where(passes, 1.0, means + spread)
    down = np.where(passes, -1.0, means - spread)
    gained = np.where(passes, (differing + means * count) / 2, count / 2)
    lost = np.where(passes, (differing - means * count) / 2, count / 2)
    return below_zero_p(np.stack([-reach, up, down]), np.stack([np.ones(len(means)), gained, lost]))


def clusters_needed(
    difference: float,
    errors: Floats,
    clusters: Integers,
    degrees: Floats,
    reach: Floats,
    *,
    tests: int,
    pass_fail: Booleans | bool = False,
) -> Integers:
    """Return how many clusters a true difference takes to be detected with a power of 80 %.

    The new clusters are assumed to be like the present ones.

    Args:
        difference: The true difference, positive.
        errors: The standard errors of the differences with the present clusters.
        clusters: The number of present clusters.
        degrees: The degrees of freedom of the standard errors.
        reach: The largest difference that an unseen cluster of mean size may have.
        tests: The number of tests in the family of Holm's adjustment.
        pass_fail: Whether the differences are those of passes and failures.

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
            reach,
            tests=tests,
            pass_fail=pass_fail,
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


def spread_ratio(degrees: Floats, quantile: float) -> Floats:
    """Return a quantile of how far an estimated spread of normal numbers is from the true one.

    Args:
        degrees: The degrees of freedom of the estimate; 0 gives NaN.
        quantile: The quantile.
    """
    from scipy.special import chdtri

    known = np.where(degrees > 0, degrees, np.nan)
    ratio: Floats = np.sqrt(chdtri(known, 1 - quantile) / known)
    return ratio
