"""Confidence intervals of means: Wilson, Student's t, and for numbers without variation."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats
    from evaluators.statistics.clusters import ClusterSums, Independence

_ROUNDING = 1e-13
_QUICK_CHECK = 1000

FEW_CLUSTERS = 30
"""With fewer (effective) clusters than this, the coverage of an interval is only approximate."""

VERY_FEW_CLUSTERS = 8
"""With fewer clusters than this, numbers say little about the shape of their distribution."""

_EVEN = 0.7
"""The least effective clusters, as a share of all, for an estimate of the skewness."""

Choice: TypeAlias = Literal["skew_adjusted_t", "t"]
Method: TypeAlias = Literal["wilson", "skew_adjusted_t", "t", "no_variation"]


class Interval(NamedTuple):
    """The two ends, each of shape (columns,); NaN where there is no interval."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The uncertainty of the mean of each column.

    Attributes:
        std_error: The cluster-robust standard error; 0 without variation.
        interval: The confidence interval.
        methods: The method of each interval; None where there is none. With `no_variation` there
            is one only on a scale with two bounds.
    """

    std_error: Floats
    interval: Interval
    methods: list[Method | None]


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
    *,
    pass_fail: Booleans,
    bounds: tuple[float, float],
    method: Choice = "skew_adjusted_t",
    independence: Independence | None = None,
) -> Uncertainty:
    """Compute the uncertainty of each column's mean, with a suitable method.

    Passes and failures get Wilson's interval. Other numbers get Student's, adjusted for skewness
    unless `t` is requested, there are too few clusters to estimate it, or some clusters are much
    larger than others. Equal numbers get `no_variation_interval`. Each column has a method of its
    own, so that other columns do not change it. Intervals are clipped to the metric's bounds.

    Args:
        data: The numbers, summed within clusters.
        pass_fail: Shape (columns,): whether every number of the column is 0 or 1.
        bounds: The bounds of the metric.
        method: The method for numbers that are not passes and failures.
        independence: How much independent data each column represents; None: that of `data`.
    """
    basis = data.independence if independence is None else independence
    constant = ~pass_fail & has_no_variation(data, bounds)
    errors = np.where(constant, 0.0, data.std_errors)
    adjusted = (
        (basis.clusters >= VERY_FEW_CLUSTERS)
        & (basis.effective >= _EVEN * basis.clusters)
        & (method == "skew_adjusted_t")
    )
    skewness = np.where(adjusted, data.skewness, 0.0)
    successes = np.where(pass_fail, data.sums.sum(axis=0), 0.0)
    by_method: list[tuple[Method, Booleans, Interval]] = [
        ("wilson", pass_fail, wilson(successes, data.n, effective_sample_size(data))),
        ("no_variation", constant, no_variation_interval(data.means, basis, bounds)),
        ("t", ~adjusted, t_interval(data.means, errors, basis.degrees)),
        ("skew_adjusted_t", adjusted, t_interval(data.means, errors, basis.degrees, skewness)),
    ]
    chosen = [condition for _, condition, _ in by_method]
    low, high = (np.select(chosen, [each[2][end] for each in by_method]) for end in (0, 1))
    # Adding 0 removes the sign of a negative zero.
    interval = Interval(np.maximum(low, bounds[0]) + 0.0, np.minimum(high, bounds[1]) + 0.0)
    names = np.select(chosen, [name for name, _, _ in by_method], "")
    known = np.isfinite(interval.low) | (constant & (basis.clusters > 1))
    methods = [
        name if is_known else None for name, is_known in zip(names.tolist(), known, strict=True)
    ]
    return Uncertainty(errors, interval, methods)


def has_no_variation(data: ClusterSums, bounds: tuple[float, float]) -> Booleans:
    """Return the columns whose clusters differ by rounding only.

    Args:
        data: The numbers, summed within clusters.
        bounds: The bounds of the metric: numbers near 0 are rounded relative to them.
    """
    width = bounds[1] - bounds[0]
    scale = np.maximum(np.abs(data.means), width if np.isfinite(width) else 0.0)
    # The standard error of a mean is smaller than the spread by the root of the clusters.
    spread = data.std_errors * np.sqrt(data.clusters)
    constant: Booleans = spread <= _ROUNDING * scale
    return constant


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
    clusters, at least 1), and less for few clusters. If all or none pass, it is the effective
    number of clusters.

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
        size = np.where((share > 0) & (share < 1), n / effect * few, data.effective_clusters)
    return np.where(alone, n, size)


def t_interval(
    means: Floats, errors: Floats, degrees: Floats, skewness: Floats | float = 0.0
) -> Interval:
    """Return Student's t interval of means, adjusted for skewness.

    Without skewness it is the usual interval. With skewness, the distribution of t is skewed the
    other way; Hall's transformation makes it symmetric, and the interval is the inverse of it. In
    simulations it covers as much as the studentised bootstrap.

    Args:
        means: Shape (columns,).
        errors: The standard errors.
        degrees: The degrees of freedom, such as `ClusterSums.degrees_of_freedom`; 0 gives NaN.
        skewness: The skewness of the mean, such as `ClusterSums.skewness`.

    Source: Hall, "On the removal of skewness by transformation", 1992.
    """
    quantile = t_quantile(degrees)
    low, high = (_inverse_transformation(end, skewness) for end in (quantile, -quantile))
    return Interval(means - low * errors, means - high * errors)


def _inverse_transformation(y: Floats, skewness: Floats | float) -> Floats:
    """Return 3 / a * (cbrt(1 + a * (y - a / 6)) - 1) for the skewness a, also for a = 0."""
    shifted = y - np.asarray(skewness) / 6
    root = np.cbrt(1 + skewness * shifted)
    inverse: Floats = 3 * shifted / (root**2 + root + 1)
    return inverse


def no_variation_interval(
    means: Floats, basis: Independence, bounds: tuple[float, float]
) -> Interval:
    """Return the interval of equal numbers: a share of unseen clusters may differ.

    After c equal clusters, a share of up to 1 - 0.05 ** (1 / c) other clusters cannot be excluded
    (about 3 / c, the rule of three). The interval gives these the lowest and the highest possible
    number. There is no interval on an unbounded scale or for a single cluster.

    Args:
        means: Shape (columns,).
        basis: The clusters, of which the effective number counts.
        bounds: The bounds of the metric.
    """
    with np.errstate(divide="ignore"):
        unseen = 1 - (1 - CONFIDENCE) ** (1 / basis.effective)
    share = np.where(basis.clusters > 1, unseen, np.nan)
    low, high = means - share * (means - bounds[0]), means + share * (bounds[1] - means)
    known = np.isfinite(low) & np.isfinite(high)
    return Interval(np.where(known, low, np.nan), np.where(known, high, np.nan))


def t_quantile(degrees: Floats) -> Floats:
    """Return the quantile of Student's t for a two-sided interval; NaN for no degrees."""
    from scipy.special import stdtrit

    known = np.where(degrees > 0, degrees, np.nan)
    if known.size and (known == known.flat[0]).all():
        # It takes a microsecond for each.
        return np.full(known.shape, stdtrit(known.flat[0], 0.5 + CONFIDENCE / 2))
    quantiles: Floats = stdtrit(known, 0.5 + CONFIDENCE / 2)
    return quantiles
