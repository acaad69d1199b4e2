"""The test of a mean difference: p-values, and the interval that is its inversion.

The clusters of questions get random weights, and so does one that was not seen and has the worst
possible difference (see `mean_bounds`). No symmetry is assumed, and rare large losses are allowed
for. A p-value, the interval and a verdict cannot contradict each other. For passes and failures of
independent questions, the p-value of "no difference" is that of McNemar's exact test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.intervals import Interval
from evaluators.statistics.weighted_sums import below_zero_p

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluators.statistics.arrays import Booleans, Floats, Integers

MARGIN = 1.5
"""On a scale without bounds, an unseen difference is at most so often the range of those seen."""

_MOST_DISTINCT = 1_024
"""More equally large clusters than this are put into bins."""

_BINS = 128

_NEAR = 0.3
"""A sum whose mean is at most so many standard deviations above 0 has a p-value above 0.05."""

_STEPS = 60
_PRECISION = 1e-7
_TINY = 1e-15
_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The differences of pairs of systems, which are tested together.

    Attributes:
        sums: Shape (values, pairs): the sum of the differences in each cluster.
        counts: The same shape, or (values, 1): the number of questions in each cluster; 0 without.
        reach: Shape (pairs,): no difference on a question is larger.
        repeats: The same shape as `sums`: how many such clusters there are; None: one.
    """

    sums: Floats
    counts: Floats
    reach: Floats
    repeats: Floats | None = None

    @property
    def largest(self) -> Floats:
        """The questions in the largest cluster of each pair; so many has the unseen one."""
        largest: Floats = self.counts.max(axis=0, initial=0.0)
        return np.broadcast_to(largest, self.reach.shape)

    @property
    def mirrored(self) -> PairedTest:
        """The same differences with their signs reversed."""
        return replace(self, sums=-self.sums)

    def take(self, which: Integers | Booleans) -> PairedTest:
        """Return some of the pairs."""
        counts = self.counts if self.counts.shape[1] == 1 else self.counts[:, which]
        repeats = None if self.repeats is None else self.repeats[:, which]
        return PairedTest(self.sums[:, which], counts, self.reach[which], repeats)

    def above_p(self, limits: Floats | float) -> Floats:
        """Return the p-values of the hypotheses that the means are at most `limits`."""
        unseen = (-self.reach - limits) * self.largest
        excess = self.sums - limits * self.counts
        repeats = self.repeats
        if repeats is not None:
            repeats = np.vstack([np.ones(len(unseen)), repeats])
        return below_zero_p(np.vstack([unseen, excess]), repeats)

    def difference_p(self, is_needed: Booleans | None = None) -> Floats:
        """Return the two-sided p-values of the hypotheses that there is no difference.

        Args:
            is_needed: Shape (pairs,): the pairs whose p-value is needed in any case. Others get 1
                if they are certainly not significant after Holm's adjustment: p is above 0.05, or
                above 0.05 by the number of those.
        """
        total = self._total(self.sums)
        sign = np.where(total < 0, -1.0, 1.0)
        p = np.ones(len(self.reach))
        open_ = total != 0
        if is_needed is not None:
            is_large = self._surely_above_level(np.abs(total))
            threshold = LEVEL / (1 + np.count_nonzero(is_large))
            open_ &= is_needed | ~(is_large | (self._least_p(sign) > threshold))
        which = np.flatnonzero(open_)
        if len(which):
            own = self.take(which)
            p[which] = np.minimum(1.0, 2 * replace(own, sums=own.sums * sign[which]).above_p(0.0))
        return p

    def interval(self, level: float) -> Interval:
        """Return the interval whose ends may each fail with a probability of `level`."""
        both = np.tile(np.arange(len(self.reach)), 2)
        signs = np.repeat((1.0, -1.0), len(self.reach))
        every = self.take(both)
        # Both ends together take half of the steps.
        low, high = np.split(replace(every, sums=every.sums * signs).low(level), 2)
        return Interval(low + 0.0, -high + 0.0)

    def low(self, level: float) -> Floats:
        """Return the lower ends: the largest means with a p-value of at most `level`.

        The quantiles of the p-values are nearly linear in the mean, so that few steps are needed.
        NaN without questions.
        """
        from scipy.special import ndtri

        target = float(ndtri(level))
        n, total = self._total(self.counts + 0 * self.sums), self._total(self.sums)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
        ends = -self.reach, mean
        at = mean
        for _ in range(2):
            deviation, skewness = self._shape(at)
            quantile = target + skewness / 6 * (target**2 - 1)
            at = (total - self.reach * self.largest + quantile * deviation) / (n + self.largest)
            at = np.where((at > ends[0]) & (at < ends[1]), at, (ends[0] + ends[1]) / 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (n + self.largest) / deviation

        def above_level(limits: Floats, which: Integers) -> Floats:
            return quantile_of(self.take(which).above_p(limits)) - target

        found = find_zeros(above_level, ends, at, slope)
        return np.where(n > 0, found, np.nan)

    def _shape(self, limits: Floats) -> tuple[Floats, Floats]:
        """Return the standard deviation and the skewness of the weighted sums, given the means."""
        unseen = (self.reach + limits) * self.largest
        excess = self.sums - limits * self.counts
        squares = excess**2
        deviation = np.sqrt(self._total(squares) + unseen**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            skewness = 2 * (self._total(squares * excess) - unseen**3) / deviation**3
        return deviation, skewness

    def _surely_above_level(self, total: Floats) -> Booleans:
        """Return the pairs whose p-value is certainly above 0.05.

        The weighted sum has a log-concave density, so that it is below 0 with a probability of at
        least 1 / e minus its mean in standard deviations.

        Source: Bertsimas and Vempala, "Solving convex programs by random walks", 2004, lemma 5.
        """
        unseen = self.reach * self.largest
        deviation = np.sqrt(self._total(self.sums**2) + unseen**2)
        near: Booleans = total - unseen <= _NEAR * deviation
        return near

    def _least_p(self, sign: Floats) -> Floats:
        """Return lower bounds of the p-values, as if there were no losses."""
        unseen = np.where(self.reach > 0, self.reach * self.largest, np.inf)
        gains = np.maximum(self.sums * sign, 0.0) / unseen
        least: Floats = 2 * np.exp(-self._total(np.log1p(gains)))
        return least

    def _total(self, numbers: Floats) -> Floats:
        total: Floats = (numbers if self.repeats is None else numbers * self.repeats).sum(axis=0)
        return total


def find_zeros(
    function: Callable[[Floats, Integers], Floats],
    ends: tuple[Floats, Floats],
    start: Floats,
    slope: Floats,
) -> Floats:
    """Return where increasing functions are zero; their lower end if they are positive there.

    Args:
        function: Returns the values of some of the functions, given one argument for each and their
            positions.
        ends: The lower and upper ends of the arguments.
        start: The first arguments, within the ends.
        slope: The first slopes.
    """
    low, high = ends[0].copy(), ends[1].copy()
    at, slope, found = start.copy(), slope.copy(), low.copy()
    last, last_value = np.full((2, len(at)), np.nan)
    open_ = np.flatnonzero(high > low)
    for _ in range(_STEPS):
        if not len(open_):
            break
        here = at[open_]
        value = function(here, open_)
        low[open_] = np.where(value <= 0, here, low[open_])
        high[open_] = np.where(value > 0, here, high[open_])
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            secant = (value - last_value[open_]) / (here - last[open_])
            slope[open_] = np.where(secant > 0, secant, slope[open_])
            moved = here - value / slope[open_]
        last[open_], last_value[open_] = here, value
        own = low[open_], high[open_]
        at[open_] = np.where((moved > own[0]) & (moved < own[1]), moved, (own[0] + own[1]) / 2)
        is_close = np.abs(value) < _PRECISION
        found[open_] = np.where(is_close, here, own[0])
        open_ = open_[~is_close & (own[1] - own[0] > _TINY * (ends[1] - ends[0])[open_])]
    return found


def quantile_of(p: Floats) -> Floats:
    """Return the normal quantiles of probabilities, which are finite."""
    from scipy.special import ndtri

    quantile: Floats = ndtri(np.clip(p, _LEAST, 1 - 1e-16))
    return quantile


def paired_test(
    sums: Floats, counts: Floats, reach: Floats, *, pass_fail: bool = False
) -> PairedTest:
    """Return the test of differences; few distinct differences take less time.

    Args:
        sums: Shape (clusters, pairs): the sum of the differences in each cluster.
        counts: The same shape: the number of questions in each cluster.
        reach: Shape (pairs,): no difference on a question is larger.
        pass_fail: Whether every difference is one of passes and failures of a single question.
    """
    if pass_fail:
        values = np.array([[1.0], [0.0], [-1.0]])
        present = counts > 0
        repeats = np.stack([((sums == value) & present).sum(axis=0) for value in values[:, 0]])
        shape = repeats.shape
        return PairedTest(
            np.broadcast_to(values, shape), np.ones((3, 1)), reach, repeats.astype(np.float64)
        )
    size = counts.max(initial=0.0)
    if len(sums) > _MOST_DISTINCT and ((counts == size) | (counts == 0)).all():
        return _put_into_bins(sums, counts > 0, size, reach)
    return PairedTest(sums, counts, reach)


def _put_into_bins(sums: Floats, present: Booleans, size: float, reach: Floats) -> PairedTest:
    """Return the test of many equally large clusters: neighbours get two values.

    These have the mean and the variance of the neighbours; p-values change by less than 1 in 1,000.
    """
    low, high = sums.min(axis=0), sums.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    bins = np.minimum(((sums - low) / width * _BINS).astype(np.int64), _BINS - 1)
    bins += _BINS * np.arange(sums.shape[1])
    own, values = bins[present], sums[present]
    count = _BINS * sums.shape[1]
    repeats = np.bincount(own, minlength=count)
    held = np.maximum(repeats, 1)
    means = np.bincount(own, values, count) / held
    spreads = np.sqrt(np.bincount(own, (values - means[own]) ** 2, count) / held)
    shape = (sums.shape[1], _BINS)
    both = [each.reshape(shape).T for each in (means - spreads, means + spreads)]
    half = repeats.reshape(shape).T / 2
    return PairedTest(
        np.vstack(both), np.full((2 * _BINS, 1), size), reach, np.vstack([half, half])
    )


def least_p(counts: Floats, *, bounded: Booleans | bool = True) -> Floats:
    """Return the smallest possible p-value: all differences are as large as possible.

    Args:
        counts: Shape (clusters, pairs): the number of questions in each cluster.
        bounded: Shape (pairs,): whether the scale has bounds. If not, equal differences reach 1 /
            `MARGIN` of what an unseen one may be.
    """
    largest = np.maximum(counts.max(axis=0, initial=0.0), 1.0)
    share = counts / largest / np.where(bounded, 1.0, MARGIN)
    least: Floats = np.minimum(1.0, 2 * np.exp(-np.log1p(share).sum(axis=0)))
    return least
