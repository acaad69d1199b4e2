"""Anytime-valid tests of a mean: valid at every look, however many there are.

A test starts with a capital of 1 and bets on each cluster that the mean is above a limit. If it is
not, the capital is not expected to grow, and the probability that it ever reaches 1 / p is at most
p (Ville's inequality). The capital is the mean over fixed bets, so it does not depend on the order
of the clusters within a look, only on which clusters came before which look.

Source: Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting";
Shafer 2021, "Testing by betting".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.mean_bounds import mean_above_p

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats

BETS = np.geomspace(1 / 64, 63 / 64, 16)
"""The shares of the capital that are bet: small ones find small differences."""


@dataclass(frozen=True, kw_only=True)
class SequentialTest:
    """The tests of a mean at one look.

    The mean is that of the numbers, not of the clusters. Half of the level is for the capital, the
    other half for a test of the first look alone (`mean_above_p`), which finds more if later looks
    add little.

    Attributes:
        sums: Shape (clusters,): the sum of the numbers of each cluster, in the order of the looks.
        counts: The same shape: how many numbers a cluster has, at least one.
        reach: All numbers lie between `-reach` and `reach`.
        first: The number of clusters at the first look of the epoch.
        largest: At least as much as the largest of `counts`, and the same at all looks of an epoch.
        epoch: How often the test has started over, from 1.
    """

    sums: Floats
    counts: Floats
    reach: float
    first: int
    largest: float = 1.0
    epoch: int = 1

    @property
    def share(self) -> float:
        """The share of the level for each half of this epoch.

        The shares of all epochs add up to 1, so the level holds however often the test starts over,
        and however much the epochs depend on each other.
        """
        return 0.5 / (self.epoch * (self.epoch + 1))

    def above_p(self, limit: float) -> float:
        """Return the p-value of the hypothesis that the mean is at most `limit`.

        The probability that it is ever at most p, at any look of any epoch, is at most p.
        """
        return min(self.first_above_p(limit), self.betting_above_p(limit))

    def below_p(self, limit: float) -> float:
        """Return the p-value of the hypothesis that the mean is at least `limit`."""
        return self.mirrored().above_p(-limit)

    def first_above_p(self, limit: float) -> float:
        """Return the part of `above_p` from the first look of the epoch."""
        sums, counts = self.sums[: self.first], self.counts[: self.first]
        return min(1.0, mean_above_p(sums, counts, self.reach, limit) / self.share)

    def betting_above_p(self, limit: float) -> float:
        """Return the part of `above_p` from the capital."""
        if limit <= -self.reach:
            return 1.0
        sums, counts, repeats = self._distinct
        # At least -1, so no bet can lose more than the capital.
        returns = (sums - limit * counts) / ((self.reach + limit) * self.largest)
        growth = np.log1p(np.outer(BETS, returns)) @ repeats
        peak = float(growth.max())
        log_capital = peak + math.log(float(np.exp(growth - peak).mean()))
        return math.exp(min(0.0, -log_capital - math.log(self.share)))

    def bounds(self, level: float) -> tuple[float, float]:
        """Return the lower and upper ends of the confidence sequence.

        Args:
            level: The probability with which each end may ever fail, over all looks and epochs.
        """
        return self.low(level), -self.mirrored().low(level)

    def low(self, level: float) -> float:
        """Return the lower end of the confidence sequence."""
        from scipy.optimize import brentq

        def exceeded(limit: float) -> float:
            return self.above_p(limit) - level

        # Nearer to the end than this, the returns are infinite.
        start = -self.reach * (1 - 1e-9)
        if exceeded(start) > 0:
            return -self.reach
        return float(brentq(exceeded, start, self.reach, xtol=1e-9 * self.reach))

    def mirrored(self) -> SequentialTest:
        """Return the same test of the numbers with their signs reversed."""
        return replace(self, sums=-self.sums)

    @cached_property
    def _distinct(self) -> Floats:
        """Shape (3, distinct clusters): sum, size, and how often there are such clusters."""
        # Pairs as complex numbers are sorted much faster than rows.
        pairs, repeats = np.unique(self.sums + 1j * self.counts, return_counts=True)
        return np.vstack([pairs.real, pairs.imag, repeats])
