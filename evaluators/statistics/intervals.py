"""Confidence intervals of means: Wilson, bootstrap, Student's t, and for constant numbers."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE
from evaluators.statistics.bootstrap import LARGE

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers
    from evaluators.statistics.clusters import ClusterSums

_ROUNDING = 1e-13
_QUICK_CHECK = 1000

FEW_CLUSTERS = 30
"""With fewer clusters than this, the coverage of an interval is only approximate."""

Method: TypeAlias = Literal["wilson", "bootstrap", "t"]


class Interval(NamedTuple):
    """The two ends, each of shape (columns,); NaN where there is no interval."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The uncertainty of the mean of each column.

    Attributes:
        std_error: The cluster-robust standard error.
        interval: The confidence interval.
        method: The method of the intervals.
    """

    std_error: Floats
    interval: Interval
    method: Method


def is_pass_fail(values: Floats) -> bool:
    """Return whether there are numbers and each of them is 0 or 1."""
    beginning = values[:_QUICK_CHECK]
    either = (beginning == 0) | (beginning == 1) | np.isnan(beginning)
    if not either.all():
        return False
    missing = np.isnan(values)
    return bool(((values == 0) | (values == 1) | missing).all() and not missing.all())


def uncertainty(
    data: ClusterSums,
    draws: Floats,
    *,
    pass_fail: bool,
    bounds: tuple[float, float],
    method: Literal["bootstrap", "t"] = "bootstrap",
    clusters: Integers | None = None,
) -> Uncertainty:
    """Compute the uncertainty of each column's mean, with a suitable method.

    Passes and failures get Wilson's interval. Other numbers get the bootstrap's, or Student's t if
    requested or above `LARGE` clusters. A column with equal numbers gets `constant_interval`.
    Intervals are clipped to the metric's bounds.

    Args:
        data: The numbers, summed within clusters.
        draws: The result of `resampled_means`; empty if no draws are needed.
        pass_fail: Whether every number is 0 or 1.
        bounds: The bounds of the metric.
        method: The method for numbers that are not passes and failures.
        clusters: The number of clusters that the rows of each column represent; None: one per row.
    """
    errors = data.std_errors
    used: Method = "wilson" if pass_fail else method
    if pass_fail:
        interval = wilson(data.sums.sum(axis=0), data.n, effective_sample_size(data))
    elif method == "t" or len(data.sums) > LARGE:
        used, interval = "t", t_interval(data.means, errors, data.degrees_of_freedom)
    else:
        interval = bootstrap_interval(draws, data.clusters)
    if not pass_fail:
        constant = errors <= _ROUNDING * np.abs(data.means)
        ends = constant_interval(
            data.means, data.clusters if clusters is None else clusters, bounds
        )
        low, high = (np.where(constant, *pair) for pair in zip(ends, interval, strict=True))
        interval = Interval(np.maximum(low, bounds[0]), np.minimum(high, bounds[1]))
    return Uncertainty(errors, interval, used)


def wilson(successes: Floats, n: Floats, sizes: Floats | None = None) -> Interval:
    """Return Wilson's score interval of a share.

    Args:
        successes: The number of passes.
        n: The number of questions; 0 gives NaN.
        sizes: The effective number of independent questions; None: `n`.

    Source: Wilson 1927; recommended for few questions by Bowyer and others, arXiv 2503.01747.
    """
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    size = np.asarray(n if sizes is None else sizes, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(n > 0, successes / n, np.nan)
        middle = (share + z**2 / (2 * size)) / (1 + z**2 / size)
        half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / (1 + z**2 / size)
    # Exact at the ends, without rounding errors.
    low = np.where(share == 0, 0.0, middle - half)
    return Interval(low, np.where(share == 1, 1.0, middle + half))


def effective_sample_size(data: ClusterSums) -> Floats:
    """Return the effective number of independent questions of each column's passes and failures.

    This is the number of questions divided by the design effect (the increase of the variance by
    clusters, at least 1), and less for few clusters. If all or none pass, it is the number of
    clusters.

    Source: Korn and Graubard, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", 1998.
    """
    n, share = data.n, data.means
    alone = n == data.clusters
    if alone.all():
        return n
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = np.maximum(1.0, data.std_errors**2 * (n - 1) / (share * (1 - share)))
        few = (t_quantile(n - 1) / t_quantile(data.degrees_of_freedom)) ** 2
        size = np.where((share > 0) & (share < 1), n / effect * few, data.clusters)
    return np.where(alone, n, size)


def bootstrap_interval(draws: Floats, clusters: Integers) -> Interval:
    """Return the bootstrap's percentile interval, expanded like Student's t.

    Plain percentiles are too narrow by the root of (c - 1) / c, and because they use the normal
    instead of the t distribution; expanded percentiles correct both.

    Args:
        draws: Means, shape (draws, columns).
        clusters: The clusters of each column; fewer than two give NaN.

    Source: Hesterberg, "What teachers should know about the bootstrap", 2015, section 4.
    """
    from scipy.special import ndtr

    low, high = np.full(len(clusters), np.nan), np.full(len(clusters), np.nan)
    for number in np.unique(clusters[clusters > 1]):
        own = clusters == number
        wide = np.sqrt(number / (number - 1)) * t_quantile(np.array([number - 1.0]))[0]
        tail = float(ndtr(-wide))
        low[own], high[own] = np.nanquantile(draws[:, own], [tail, 1 - tail], axis=0)
    return Interval(low, high)


def t_interval(means: Floats, errors: Floats, degrees: Floats) -> Interval:
    """Return Student's t interval of means.

    Args:
        means: Shape (columns,).
        errors: The standard errors.
        degrees: The degrees of freedom, such as `ClusterSums.degrees_of_freedom`; 0 gives NaN.
    """
    half = t_quantile(degrees) * errors
    return Interval(means - half, means + half)


def constant_interval(means: Floats, clusters: Integers, bounds: tuple[float, float]) -> Interval:
    """Return the interval of equal numbers: a share of unseen clusters may differ.

    After c equal clusters, a share of up to 1 - 0.05 ** (1 / c) other clusters cannot be excluded
    (about 3 / c, the rule of three). The interval gives these the lowest and the highest possible
    number. There is no interval on an unbounded scale or for a single cluster.
    """
    with np.errstate(divide="ignore"):
        share = np.where(clusters > 1, 1 - (1 - CONFIDENCE) ** (1 / clusters), np.nan)
    low, high = means - share * (means - bounds[0]), means + share * (bounds[1] - means)
    known = np.isfinite(low) & np.isfinite(high)
    return Interval(np.where(known, low, np.nan), np.where(known, high, np.nan))


def t_quantile(degrees: Floats) -> Floats:
    """Return the quantile of Student's t for a two-sided interval; NaN for no degrees."""
    from scipy.special import stdtrit

    quantiles: Floats = stdtrit(np.where(degrees > 0, degrees, np.nan), 0.5 + CONFIDENCE / 2)
    return quantiles
