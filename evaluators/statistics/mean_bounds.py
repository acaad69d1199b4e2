"""Bounds of a mean on a bounded scale that hold for any number of clusters.

Each cluster gets a random weight (independent exponential numbers, so their shares are Dirichlet),
and so does one cluster that was not seen and has the worst possible mean. The level's quantile of
the weighted mean is the bound. For passes and failures this is Clopper and Pearson's bound; for
differences of passes and failures the test of "no difference" is McNemar's exact one; after equal
numbers it is the rule of three.

Source: Gaffke 2005, "Three test statistics for a nonparametric one-sided hypothesis on the mean of
a nonnegative variable"; Learned-Miller and Thomas, arXiv 1905.06208. It is proven for two distinct
values; for others no counterexample is known, and the simulations look for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from evaluators.statistics.weighted_sums import below_zero_p

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats
    from evaluators.statistics.clusters import ClusterSums

_MOST_DISTINCT = 1_000


def mean_bounds(sums: Floats, counts: Floats, reach: float, level: float) -> tuple[float, float]:
    """Return the one-sided lower and upper bounds of the mean of independent clusters.

    Args:
        sums: Shape (clusters,): the sum of the numbers of each cluster.
        counts: The same shape: how many numbers a cluster has, at least one.
        reach: All numbers lie between `-reach` and `reach`.
        level: The probability with which each bound may fail.

    Returns:
        The bounds, within the reach.
    """
    return _low(sums, counts, reach, level), -_low(-sums, counts, reach, level)


def mean_above_p(sums: Floats, counts: Floats, reach: float, limit: float) -> float:
    """Return the p-value of the hypothesis that the mean is at most `limit`.

    The mean is that of the numbers, not of the clusters. The unseen cluster is as large as the
    largest. `mean_above_p(-sums, counts, reach, -limit)` is the p-value of the opposite hypothesis.

    Args:
        sums: As for `mean_bounds`.
        counts: As for `mean_bounds`.
        reach: As for `mean_bounds`.
        limit: The mean under the hypothesis.
    """
    excess, repeats = _distinct(sums - limit * counts)
    unseen = (-reach - limit) * counts.max()
    every, times = np.r_[unseen, excess][:, None], np.r_[1.0, repeats][:, None]
    return float(below_zero_p(every, times)[0])


def misses_p(
    data: ClusterSums, limit: float, best: Literal["high", "low"], bounds: tuple[float, float]
) -> Floats:
    """Return p-values of the hypothesis that the true mean of a column reaches a limit.

    Only the best value of the scale must be known: it is what one unseen cluster may have. For
    passes and failures of independent questions this is the exact binomial test.

    Args:
        data: The numbers, summed within clusters.
        limit: The limit.
        best: Whether a mean reaches it from above or from below.
        bounds: The bounds of the numbers.

    Returns:
        Shape (columns,): 1 where the mean reaches the limit; NaN where nothing can be tested:
        without numbers, or on a scale without a best value.
    """
    best_value = bounds[best == "high"]
    if not np.isfinite(best_value):
        return np.full(len(data.means), np.nan)
    sign = 1.0 if best == "high" else -1.0
    distance = sign * (best_value - limit)
    p = np.full(len(data.means), np.nan)
    for at, mean in enumerate(data.means):
        if np.isnan(mean):
            continue
        if sign * (mean - limit) >= 0:
            p[at] = 1.0
            continue
        is_present = data.counts[:, at] > 0
        sums, counts = data.sums[is_present, at], data.counts[is_present, at]
        # How much each cluster lacks of the best value: never negative, and 0 for the unseen one.
        missing = sign * (best_value * counts - sums)
        p[at] = mean_above_p(missing, counts, 0.0, distance)
    return p


def exact_interval(
    data: ClusterSums, bounds: tuple[float, float], level: float
) -> tuple[float, float]:
    """Return an interval of the mean of the first column, of which each end holds.

    Args:
        data: The numbers, summed within clusters.
        bounds: The finite bounds of the numbers.
        level: The probability with which each end may fail.

    Returns:
        The lower and the upper end; NaN without numbers.
    """
    is_present = data.counts[:, 0] > 0
    sums, counts = data.sums[is_present, 0], data.counts[is_present, 0]
    if not len(sums):
        return np.nan, np.nan
    middle, reach = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    low, high = mean_bounds(sums - middle * counts, counts, reach, level)
    return max(bounds[0], middle + low), min(bounds[1], middle + high)


def _low(sums: Floats, counts: Floats, reach: float, level: float) -> float:
    from scipy.optimize import brentq

    def exceeded(limit: float) -> float:
        return mean_above_p(sums, counts, reach, limit) - level

    # A p-value above the level at the lowest possible mean: all numbers are that low.
    if exceeded(-reach) > 0:
        return -reach
    return float(brentq(exceeded, -reach, reach, xtol=1e-9 * reach))


def _distinct(excess: Floats) -> tuple[Floats, Floats]:
    """Return the distinct numbers and how often each occurs.

    Many thousands of numbers become the means of groups of neighbours; the variance within these
    groups is negligible.
    """
    distinct, repeats = np.unique(excess, return_counts=True)
    weights = repeats.astype(np.float64)
    if len(distinct) <= _MOST_DISTINCT:
        return distinct, weights
    starts = np.linspace(0, len(distinct), _MOST_DISTINCT, endpoint=False).astype(np.int64)
    grouped = np.add.reduceat(weights, starts)
    return np.add.reduceat(distinct * weights, starts) / grouped, grouped
