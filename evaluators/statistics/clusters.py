"""Clusters: sums, means and standard errors over dependent questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers


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

    @property
    def _codes(self) -> Integers:
        return np.empty(0, dtype=np.int64) if self.codes is None else self.codes


@dataclass(frozen=True)
class ClusterSums:
    """Columns of numbers (of systems, say), summed within each cluster of questions.

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
        """The number of equal clusters with the same information, N squared over sum(m squared).

        Shape (columns,); equal to `clusters` if all are equally large, 0 without numbers.
        Source: Kish 1965; Carter, Schnepel and Steigerwald 2017, for independent numbers.
        """
        squares = np.einsum("ij,ij->j", self.counts, self.counts)
        effective: Floats = np.nan_to_num(_ratio(self.n**2, squares))
        return effective

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
        squares = np.einsum("ij,ij->j", self.residuals, self.residuals)
        errors: Floats = np.where(self.clusters > 1, np.sqrt(squares), np.nan)
        return errors

    @cached_property
    def degrees_of_freedom(self) -> Floats:
        """The degrees of freedom of Student's t for these standard errors.

        Shape (columns,). Satterthwaite's approximation for independent numbers of equal variance:
        clusters - 1 if all are equally large, fewer otherwise, 0 without a second cluster.

        Source: Bell and McCaffrey 2002; Imbens and Kolesar 2016.
        """
        same = self.counts.max(axis=0, initial=0.0) * self.clusters == self.n
        if same.all():
            return np.maximum(self.clusters - 1.0, 0.0)
        # A residual sum has the variance m - m^2 / n and the covariances -m k / n.
        weights = np.divide(1.0, self._rest, out=np.zeros_like(self._rest), where=self._rest > 0)
        weights **= 2
        size, n = self.counts, np.maximum(self.n, 1.0)
        trace = np.einsum("ij,ij->j", weights, size - size**2 / n)
        shared = np.einsum("ij,ij->j", weights, size**2) / n
        own = np.einsum("ij,ij->j", weights**2, size**2 - 2 * size**3 / n)
        found = np.nan_to_num(_ratio(trace**2, own + shared**2))
        degrees: Floats = np.where(same, np.maximum(self.clusters - 1.0, 0.0), found)
        return degrees

    @property
    def _rest(self) -> Floats:
        """The numbers of each column outside each cluster."""
        return self.n - self.counts


def sum_by_cluster(values: Floats, groups: Groups) -> ClusterSums:
    """Sum numbers within clusters.

    Args:
        values: Shape (questions, columns); NaN where a number is missing.
        groups: The clusters of questions.
    """
    is_present = np.isfinite(values)
    sums, counts = np.where(is_present, values, 0.0), is_present.astype(np.float64)
    if groups.alone:
        return ClusterSums(sums, counts)
    order, starts = groups.order, groups.starts
    return ClusterSums(
        np.add.reduceat(sums[order], starts, axis=0), np.add.reduceat(counts[order], starts, axis=0)
    )


def _ratio(numerator: Floats | Integers, denominator: Floats | Integers) -> Floats:
    """Return the quotient; NaN where the denominator is 0."""
    nothing = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    divided: Floats = np.divide(numerator, denominator, out=nothing, where=denominator > 0)
    return divided
