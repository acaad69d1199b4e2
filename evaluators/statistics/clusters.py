"""Clusters: sums, means and standard errors over dependent questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers

_ROUNDING = 1e-13

_CACHED = 2**16
"""So many numbers stay in the cache of the processor between the steps of a computation."""


@dataclass(frozen=True)
class Groups:
    """The clusters of questions.

    Attributes:
        codes: Shape (questions,): the cluster of each; None: each question is its own cluster.
    """

    codes: Integers | None = None

    @cached_property
    def alone(self) -> bool:
        """Whether each question is its own cluster."""
        return self.codes is None or len(self.starts) == len(self.codes)

    @cached_property
    def key(self) -> bytes:
        """The same for equal clusters; empty if each question is its own cluster."""
        return b"" if self.codes is None else self.codes.tobytes()

    @cached_property
    def order(self) -> Integers:
        """The order in which the questions of a cluster are consecutive."""
        order: Integers = np.argsort(self._codes, kind="stable")
        return order

    @cached_property
    def starts(self) -> Integers:
        """The positions in `order` where clusters begin."""
        ordered = self._codes[self.order]
        begins = np.r_[np.full(min(1, len(ordered)), fill_value=True), np.diff(ordered) != 0]
        return np.flatnonzero(begins).astype(np.int64)

    def subset(self, questions: Booleans) -> Groups:
        """Return the clusters of some of the questions."""
        return self if self.codes is None else Groups(self.codes[questions])

    @property
    def _codes(self) -> Integers:
        return np.empty(0, dtype=np.int64) if self.codes is None else self.codes


class Independence(NamedTuple):
    """How much independent data each column has; arrays of shape (columns,).

    Attributes:
        clusters: The number of clusters.
        effective: The number of equal clusters with the same information.
        degrees: The degrees of freedom of the standard error.
    """

    clusters: Integers
    effective: Floats
    degrees: Floats


@dataclass(frozen=True)
class ClusterSums:
    """Columns of numbers (of systems, say), summed within each cluster of questions.

    The results of a column depend on its own numbers only, to the last bit, if its clusters are all
    nonempty: `sum_by_cluster` stores columns contiguously, which fixes the order of summation.

    Attributes:
        sums: Shape (clusters, columns): the sum of the numbers.
        counts: The same shape: the number of numbers; 0 for an empty cluster.
    """

    sums: Floats
    counts: Floats

    @cached_property
    def n(self) -> Floats:
        """The number of numbers in each column."""
        n: Floats = self.counts.sum(axis=0)
        return n

    @cached_property
    def clusters(self) -> Integers:
        """The number of nonempty clusters in each column."""
        clusters: Integers = np.count_nonzero(self.counts, axis=0).astype(np.int64)
        return clusters

    @cached_property
    def means(self) -> Floats:
        """The mean of each column; NaN without numbers."""
        return _ratio(self.sums.sum(axis=0), self.n)

    @cached_property
    def effective_clusters(self) -> Floats:
        """The number of equal clusters with the same information; see `effective_clusters`."""
        return effective_clusters(self.counts)

    @cached_property
    def residuals(self) -> Floats:
        """The change of each mean when a cluster is left out, with the sign reversed.

        Shape (clusters, columns). Scaled by the root of (c - 1) / c, so that `residuals.T @
        residuals` is the jackknife's covariance matrix of the means (CR3). A column with a single
        cluster has zeros.

        Source: Bell and McCaffrey 2002; MacKinnon, Nielsen and Webb 2023.
        """
        means = np.nan_to_num(self.means)
        scale = np.nan_to_num(np.sqrt(_ratio(self.clusters - 1, self.clusters)))
        residuals: Floats = self.sums - means * self.counts
        residuals *= scale
        # Without a column's only cluster nothing is left to divide by.
        residuals /= np.where(self._rest > 0, self._rest, np.inf)
        return residuals

    @cached_property
    def std_errors(self) -> Floats:
        """The cluster-robust standard error of each mean (CR3); NaN for fewer than two clusters.

        With one question per cluster, it is the sample's standard deviation over the root of n.
        """
        squares = (self.residuals**2).sum(axis=0)
        errors: Floats = np.where(self.clusters > 1, np.sqrt(squares), np.nan)
        return errors

    @cached_property
    def degrees_of_freedom(self) -> Floats:
        """The degrees of freedom of Student's t for these standard errors.

        Shape (columns,). Satterthwaite's approximation for independent numbers of equal variance:
        clusters - 1 if all are equally large, fewer otherwise, 0 without a second cluster.

        Source: Bell and McCaffrey 2002; Imbens and Kolesar 2016.
        """
        equal: Floats = np.maximum(self.clusters - 1.0, 0.0)
        same = self.counts.max(axis=0, initial=0.0) * self.clusters == self.n
        if same.all():
            return equal
        # A residual sum has the variance m - m^2 / n and the covariances -m k / n.
        size, n = self.counts, np.maximum(self.n, 1.0)
        weights = np.where(self._rest > 0, self._rest, np.inf) ** -2.0
        trace = (weights * (size - size**2 / n)).sum(axis=0)
        shared = (weights * size**2).sum(axis=0) / n
        own = (weights**2 * (size**2 - 2 * size**3 / n)).sum(axis=0)
        found: Floats = np.nan_to_num(_ratio(trace**2, own + shared**2))
        return np.where(same, equal, found)

    @property
    def skewness(self) -> Floats:
        """The estimated skewness of the distribution of each mean; 0 without variation."""
        errors = np.where(self.std_errors > 0, self.std_errors, np.inf)
        ratios = self.residuals / errors
        # NumPy's third power takes eight times as long.
        skewness: Floats = (ratios * ratios * ratios).sum(axis=0)
        return skewness

    @property
    def independence(self) -> Independence:
        """How much independent data each column has."""
        return Independence(self.clusters, self.effective_clusters, self.degrees_of_freedom)

    @property
    def _rest(self) -> Floats:
        """The numbers of each column outside each cluster."""
        return self.n - self.counts


def effective_clusters(sizes: Floats) -> Floats:
    """Return the number of equal clusters with the same information, N squared over sum(m squared).

    Args:
        sizes: Shape (clusters, ...): how many numbers each cluster has.

    Returns:
        Shape (...); the number of clusters if all are equally large, 0 without numbers.

    Source: Kish 1965; Carter, Schnepel and Steigerwald 2017, for independent numbers.
    """
    effective: Floats = np.nan_to_num(_ratio(sizes.sum(axis=0) ** 2, (sizes**2).sum(axis=0)))
    return effective


def sum_by_cluster(values: Floats, groups: Groups) -> ClusterSums:
    """Sum numbers within clusters.

    Args:
        values: Shape (questions, columns); NaN where a number is missing.
        groups: The clusters of questions.
    """
    values = np.asfortranarray(values)
    is_present = np.isfinite(values)
    sums, counts = np.where(is_present, values, 0.0), is_present.astype(np.float64)
    if groups.alone:
        return ClusterSums(sums, counts)
    order, starts = groups.order, groups.starts
    return ClusterSums(*(_sum_groups(each, order, starts) for each in (sums, counts)))


def subtract(values: Floats, pairs: Integers) -> Floats:
    """Return the differences of pairs of columns; those within rounding error of 0 are 0.

    Args:
        values: Shape (rows, columns).
        pairs: Shape (tests, 2): the columns of each difference.

    Returns:
        Shape (rows, tests).
    """
    # Whole columns are copied, which is fast where they are contiguous.
    by_column = np.ascontiguousarray(values.T)
    differences: Floats = np.empty((len(pairs), len(values)))
    step = max(1, _CACHED // max(1, len(values)))
    for start in range(0, len(pairs), step):
        first, second = pairs[start : start + step].T
        a, b, found = by_column[first], by_column[second], differences[start : start + step]
        np.subtract(a, b, out=found)
        np.maximum(np.abs(a, out=a), np.abs(b, out=b), out=a)
        a *= _ROUNDING
        found[np.abs(found, out=b) <= a] = 0.0
    return differences.T


def subtract_parts(counts: Floats, parts: Integers, count: int) -> Floats:
    """Return the sums without each part.

    Args:
        counts: Shape (rows,): whole numbers, so that the sums are exact.
        parts: Shape (rows,): the part of each row.
        count: The number of parts.

    Returns:
        Shape (count,): the sum of the numbers without those of the part.
    """
    sums = np.bincount(parts, counts, count)
    rest: Floats = sums.sum() - sums
    return rest


def _sum_groups(numbers: Floats, order: Integers, starts: Integers) -> Floats:
    summed = np.empty((len(starts), numbers.shape[1]), order="F")
    for column in range(numbers.shape[1]):
        summed[:, column] = np.add.reduceat(numbers[order, column], starts)
    return summed


def _ratio(numerator: Floats | Integers, denominator: Floats | Integers) -> Floats:
    """Return the quotient; NaN where the denominator is 0."""
    nothing = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    divided: Floats = np.divide(numerator, denominator, out=nothing, where=denominator > 0)
    return divided
