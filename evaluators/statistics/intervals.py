"""Confidence intervals of means: Wilson's, the bootstrap's, Student's, and where nothing varies."""

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
"""Fewer clusters than this, and an interval is only roughly what it says."""

Method: TypeAlias = Literal["wilson", "bootstrap", "t"]


class Interval(NamedTuple):
    """The two ends, each of shape (columns,); NaN where there is no interval."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How sure means are, for each column.

    Attributes:
        std_error: The cluster-robust standard error.
        interval: The confidence interval.
        method: By which method the intervals were found.
    """

    std_error: Floats
    interval: Interval
    method: Method


def is_pass_fail(values: Floats) -> bool:
    """Whether there are numbers and each of them is 0 or 1."""
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
    """The uncertainty of each column's mean by the method that suits it.

    Passes and failures get Wilson's interval, all else the bootstrap's, or Student's where it was
    asked for or where there are more than `LARGE` clusters. A column whose numbers are all equal
    gets `unseen`'s. An interval ends where the metric's bounds do.

    Args:
        data: The numbers, summed within clusters.
        draws: What `resampled_means` gives for them; empty where no draws are needed.
        pass_fail: Whether every number is 0 or 1.
        bounds: The least and the greatest number that the metric can have.
        method: What to do with numbers that are not passes and failures.
        clusters: How many clusters the rows of each column stand for; null: one each.
    """
    errors = data.std_errors
    used: Method = "wilson" if pass_fail else method
    if pass_fail:
        interval = wilson(data.sums.sum(axis=0), data.n, effective_sample_size(data))
    elif method == "t" or len(data.sums) > LARGE:
        used, interval = "t", t_interval(data.means, errors, data.clusters)
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
    """Wilson's score interval of a share.

    Args:
        successes: How many passed.
        n: Of how many; 0 gives NaN.
        sizes: The number of independent questions that they are worth; null: `n`.

    Source: Wilson 1927; recommended for few questions by Bowyer and others, arXiv 2503.01747.
    """
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    size = np.asarray(n if sizes is None else sizes, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(n > 0, successes / n, np.nan)
        middle = (share + z**2 / (2 * size)) / (1 + z**2 / size)
        half = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2)) / (1 + z**2 / size)
    # Exact at the ends, where rounding would leave a trace.
    low = np.where(share == 0, 0.0, middle - half)
    return Interval(low, np.where(share == 1, 1.0, middle + half))


def effective_sample_size(data: ClusterSums) -> Floats:
    """How many independent questions the passes and failures of each column are worth.

    Their number divided by the design effect (how much the clusters increase the variance, at
    least 1), and less for few clusters. Where all or none pass, the number of clusters.

    Source: Korn and Graubard, "Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data", 1998.
    """
    n, share = data.n, data.means
    alone = n == data.clusters
    if alone.all():
        return n
    with np.errstate(invalid="ignore", divide="ignore"):
        effect = np.maximum(1.0, data.std_errors**2 * (n - 1) / (share * (1 - share)))
        few = (_quantile(n) / _quantile(data.clusters)) ** 2
        size = np.where((share > 0) & (share < 1), n / effect * few, data.clusters)
    return np.where(alone, n, size)


def bootstrap_interval(draws: Floats, clusters: Integers) -> Interval:
    """The bootstrap's percentile interval, widened as Student's t is.

    The plain percentiles are too narrow by the root of (c - 1) / c and by the normal in place of
    the t distribution; the expanded ones make up for both.

    Args:
        draws: Means, shape (draws, columns).
        clusters: The clusters of each column; fewer than two give NaN.

    Source: Hesterberg, "What teachers should know about the bootstrap", 2015, section 4.
    """
    from scipy.special import ndtr

    low, high = np.full(len(clusters), np.nan), np.full(len(clusters), np.nan)
    for number in np.unique(clusters[clusters > 1]):
        own = clusters == number
        wide = np.sqrt(number / (number - 1)) * _quantile(np.array([number]))[0]
        tail = float(ndtr(-wide))
        low[own], high[own] = np.nanquantile(draws[:, own], [tail, 1 - tail], axis=0)
    return Interval(low, high)


def t_interval(means: Floats, errors: Floats, clusters: Integers) -> Interval:
    """Student's t interval with one degree of freedom less than there are clusters."""
    half = _quantile(clusters) * errors
    return Interval(means - half, means + half)


def constant_interval(means: Floats, clusters: Integers, bounds: tuple[float, float]) -> Interval:
    """The interval where all numbers are equal: some share of the clusters may be otherwise.

    After c equal clusters a share of up to 1 - 0.05 ** (1 / c) others cannot be excluded (about
    3 / c, the rule of three); the interval allows these the worst and the best number. On a
    scale that is open on either side, and for a single cluster, there is no interval.
    """
    with np.errstate(divide="ignore"):
        share = np.where(clusters > 1, 1 - (1 - CONFIDENCE) ** (1 / clusters), np.nan)
    low, high = means - share * (means - bounds[0]), means + share * (bounds[1] - means)
    known = np.isfinite(low) & np.isfinite(high)
    return Interval(np.where(known, low, np.nan), np.where(known, high, np.nan))


def _quantile(clusters: Floats | Integers) -> Floats:
    """Student's quantile for so many clusters; NaN for fewer than two."""
    from scipy.special import stdtrit

    freedom = np.where(np.asarray(clusters) > 1, np.asarray(clusters) - 1.0, np.nan)
    quantiles: Floats = stdtrit(freedom, 0.5 + CONFIDENCE / 2)
    return quantiles
