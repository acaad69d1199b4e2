"""Krippendorff's alpha: the agreement of any number of raters, with missing ratings."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.arrays import DRAWS, SEED
from evaluators.statistics.clusters import effective_clusters
from evaluators.statistics.judges.few_labels import (
    ADDED,
    CORNERS,
    design_effect,
    number_clusters,
    scale_weights,
    t_factor,
)

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers

_RATERS = 2
_CHUNK = 4_000_000

_ROUNDING = 1e-9
"""The share of the squares up to which a spread of ratings is rounding."""


class Alpha(NamedTuple):
    """Krippendorff's alpha with its 95 % interval; NaN where there is no value."""

    value: float
    low: float
    high: float


def alpha_with_interval(
    ratings: Floats, clusters: Integers | None = None, weights: Floats | None = None
) -> Alpha:
    """Return alpha of numbers or of passes and failures (1 and 0), with a 95 % interval.

    For 1 and 0, alpha is the same on a nominal and on an interval scale. Their interval is that of
    the Bayesian bootstrap over clusters, expanded for few clusters, with Student's quantiles. Each
    draw also gives a random weight to the four ways in which two raters may agree or not, half a
    unit each; see `few_labels`. If no ratings differ, the upper end is 1. The interval of other
    numbers is that of the delete-a-cluster jackknife of log(1 - alpha), with Student's t.

    Args:
        ratings: Shape (raters, units); NaN where a rating is missing.
        clusters: The cluster of each unit; None: each is its own.
        weights: How many units each one stands for, on any scale; None: all are equal.

    Returns:
        NaN for alpha if no two raters rated the same unit, or all ratings are equal. NaN for the
        interval then, of a single cluster, and of numbers that differ within one cluster at most:
        they do not show how far they may differ.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability", 2011; Rubin 1981 for the
    bootstrap.
    """
    is_pairable = np.isfinite(ratings).sum(axis=0) >= _RATERS
    pairable = ratings[:, is_pairable]
    values = pairable[np.isfinite(pairable)]
    if len(values) == 0 or np.ptp(values) == 0:
        return Alpha(np.nan, np.nan, np.nan)
    units = _moments(pairable - values.mean())
    if weights is not None:
        units *= scale_weights(weights[is_pairable])[:, None]
    value = float(_alphas(units.sum(axis=0)))
    groups = number_clusters(None if clusters is None else clusters[is_pairable], len(units))
    counts = np.zeros((int(groups.max()) + 1, units.shape[1]))
    np.add.at(counts, groups, units)
    sizes = np.ones(len(units)) if weights is None else scale_weights(weights[is_pairable])
    effective = float(effective_clusters(np.bincount(groups, sizes).astype(np.float64)))
    if len(counts) == 1:
        return Alpha(value, np.nan, np.nan)
    if not np.isin(values, (0.0, 1.0)).all():
        return Alpha(value, *_jackknife_interval(counts, effective))
    corners = _moments(np.array(CORNERS).T - values.mean())
    low, high = _bootstrap_interval(units, counts, corners, effective, float(sizes.sum()))
    return Alpha(value, low, high if units[:, 0].any() else 1.0)


def _jackknife_interval(counts: Floats, effective: float) -> tuple[float, float]:
    """Return the interval of the delete-a-cluster jackknife of log(1 - alpha).

    Args:
        counts: The moments of the clusters, shape (clusters, 4).
        effective: The number of equal clusters with the same information.
    """
    total = counts.sum(axis=0)
    disagreements = 1.0 - _alphas(np.vstack([total, total - counts]))
    if not (disagreements > 0).all():
        return np.nan, np.nan
    whole, *parts = np.log(disagreements)
    n = len(parts)
    error = math.sqrt((n - 1) / n * float(((np.array(parts) - whole) ** 2).sum()))
    half = t_factor(effective, added=0.0) * error
    return 1.0 - math.exp(whole + half), 1.0 - math.exp(whole - half)


def _bootstrap_interval(
    units: Floats, counts: Floats, corners: Floats, effective: float, n: float
) -> tuple[float, float]:
    """Return the interval of passes and failures; see `alpha_with_interval`.

    Args:
        units: The moments of the units, shape (units, 4).
        counts: Those of the clusters.
        corners: Those of the four ways in which two raters may agree or not.
        effective: The number of equal clusters with the same information.
        n: The number of equal units with the same information.
    """
    unseen = _unseen_size(units, counts, corners, n / effective)
    drawn = _draw_moments(counts, corners, unseen)
    added = unseen * effective / n
    # Draws of few clusters vary too little, except as far as the added units vary.
    expansion = math.sqrt((effective + 1) / (effective - 1 + 2 * added))
    tail = NormalDist().cdf(-expansion * t_factor(effective, added))
    low, high = np.quantile(_alphas(drawn), [tail, 1 - tail])
    return float(low), float(high)


def _moments(ratings: Floats) -> Floats:
    """Return what alpha needs of each unit, shape (units, 4).

    These are the mean of the squared differences of its pairs, times its ratings; the number of
    ratings, their sum and the sum of their squares.
    """
    is_present = np.isfinite(ratings)
    there = np.where(is_present, ratings, 0.0)
    n, sums, squares = is_present.sum(axis=0), there.sum(axis=0), (there**2).sum(axis=0)
    # Ratings that agree differ by rounding errors only.
    spread = np.nanmax(ratings, axis=0) - np.nanmin(ratings, axis=0)
    differences = np.where(spread > 0, 2 * (n * squares - sums**2) / (n - 1), 0.0)
    return np.stack([differences, n, sums, squares], axis=1)


def _alphas(moments: Floats) -> Floats:
    """Return alpha for sums of the moments of units, shape (..., 4); NaN where ratings are equal.

    They are equal without a cluster if only its ratings differ.
    """
    observed, n, sums, squares = np.moveaxis(moments, -1, 0)
    spread = n * squares - sums**2
    differs = spread > _ROUNDING * n * squares
    found: Floats = 1.0 - observed * (n - 1) / (2 * np.where(differs, spread, np.nan))
    return found


def _unseen_size(units: Floats, counts: Floats, corners: Floats, largest: float) -> float:
    """Return how many units of clusters are worth an independent one: alpha's design effect.

    It compares the jackknife's variances over clusters and over units; see `design_effect`.
    """
    if len(counts) == len(units):
        return 1.0
    total = counts.sum(axis=0) + ADDED * corners.sum(axis=0)
    whole = _alphas(total)
    independent = float(((_alphas(total - units) - whole) ** 2).sum())
    clustered = float(((_alphas(total - counts) - whole) ** 2).sum())
    clustered *= len(counts) / (len(counts) - 1)
    return design_effect(clustered, independent, largest)


def _draw_moments(counts: Floats, corners: Floats, unseen: float) -> Floats:
    """Return sums of the moments with random weights of the clusters, shape (draws, 4)."""
    generator = np.random.default_rng(SEED)
    drawn = unseen * generator.standard_gamma(ADDED, (DRAWS, len(corners))) @ corners
    step = max(1, _CHUNK // len(counts))
    for start in range(0, DRAWS, step):
        part = drawn[start : start + step]
        part += generator.standard_exponential((len(part), len(counts))) @ counts
    return drawn
