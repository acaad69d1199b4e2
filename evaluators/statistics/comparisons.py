"""Paired comparisons of systems: the difference, and whether it is significant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import ClusterSums, Groups, sum_by_cluster
from evaluators.statistics.holm import holm
from evaluators.statistics.intervals import t_interval
from evaluators.statistics.permutation_test import least_p, sign_flip_p

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers

    _Block: TypeAlias = tuple[Integers, Integers, Floats, Floats, Floats, Floats]

Best: TypeAlias = Literal["high", "low"]

POWER = 0.8
"""The power for the smallest detectable difference."""

BETTER, WORSE, TIED, NOT_ENOUGH = "better", "worse", "tied", "not_enough_data"

_ROUNDING = 1e-13
_BLOCK = 4_000_000
"""The most numbers in a block of pairs; this bounds the memory."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Compared pairs of systems; every array has one element per pair.

    Attributes:
        pairs: Shape (pairs, 2): the positions of the two systems.
        n_pairs: The number of questions with numbers of both systems.
        clusters: The number of clusters of these questions.
        difference: The mean of the first system's numbers minus the second's.
        low: The lower end of the 95 % interval; NaN if all differences are equal.
        high: The upper end.
        p_value: The p-value of the hypothesis that there is no difference.
        p_adjusted: The p-value after Holm's adjustment for all these pairs.
        detectable: The smallest difference that this number of questions detects with a power of 80
            %.
        verdict: The verdict on the first system: better, worse, tied, not_enough_data.
    """

    pairs: Integers
    n_pairs: Integers
    clusters: Integers
    difference: Floats
    low: Floats
    high: Floats
    p_value: Floats
    p_adjusted: Floats
    detectable: Floats
    verdict: list[str]


def every_pair(systems: int) -> Integers:
    """Return all pairs of systems, the earlier one first: shape (pairs, 2)."""
    return np.stack(np.triu_indices(systems, 1), axis=1).astype(np.int64)


def compare(
    values: Floats, groups: Groups, pairs: Integers, *, best: Best, pass_fail: bool
) -> Comparisons:
    """Compare pairs of systems on the questions for which both have a number.

    Passes and failures of independent questions are tested by McNemar's exact test, everything else
    by a permutation test that flips the signs of the clusters' differences. The interval is
    Student's, with the cluster-robust standard error of the differences. A system is better or
    worse if p is significant and the interval excludes 0; with few questions, one large difference
    can make the two disagree. There is not enough data if no possible answers could give a
    significant result.

    Args:
        values: Shape (questions, systems); NaN where a number is missing.
        groups: The clusters of the questions.
        pairs: Shape (pairs, 2), as from `every_pair`: the family of Holm's adjustment.
        best: Whether high or low numbers are better.
        pass_fail: Whether every number is 0 or 1.

    Source: Miller, arXiv 2411.00640; McNemar 1947.
    """
    if np.isfinite(values).all():
        blocks = [_complete(values, groups, pairs, pass_fail=pass_fail)]
    else:
        step = max(1, _BLOCK // max(1, len(values)))
        blocks = [
            _with_gaps(values, groups, pairs[start : start + step], pass_fail=pass_fail)
            for start in range(0, max(1, len(pairs)), step)
        ]
    columns = (np.concatenate(each) for each in zip(*blocks, strict=True))
    n, found, difference, error, degrees, p = columns
    low, high = t_interval(difference, error, degrees)
    adjusted = holm(np.where(n > 0, p, np.nan))
    tests = np.count_nonzero(n)
    return Comparisons(
        pairs=pairs,
        n_pairs=n,
        clusters=found,
        difference=difference,
        low=low,
        high=high,
        p_value=np.where(n > 0, p, np.nan),
        p_adjusted=adjusted,
        detectable=detectable_difference(error),
        verdict=_verdicts(
            difference,
            # A missing interval (all differences are equal) does not contradict significance.
            (adjusted < LEVEL) & ~((low <= 0) & (high >= 0)),
            (n > 0) & (least_p(found) * tests < LEVEL),
            best,
        ),
    )


def detectable_difference(error: Floats) -> Floats:
    """Return the smallest true difference that a two-sided test detects with a power of 80 %.

    Args:
        error: The standard error of the difference.

    Source: Miller, arXiv 2411.00640, section 5.
    """
    from scipy.special import ndtri

    return error * float(ndtri(1 - LEVEL / 2) + ndtri(POWER))


def mcnemar_p(gained: Integers, lost: Integers) -> Floats:
    """Return the exact two-sided p-value of McNemar's test.

    Args:
        gained: The questions that only the first system passes.
        lost: The questions that only the second system passes.
    """
    from scipy.special import bdtr

    discordant = gained + lost
    tail = bdtr(np.minimum(gained, lost).astype(np.float64), discordant, 0.5)
    exact: Floats = np.where(discordant > 0, np.minimum(1.0, 2 * tail), 1.0)
    return exact


def _complete(values: Floats, groups: Groups, pairs: Integers, *, pass_fail: bool) -> _Block:
    """Compute questions, clusters, difference, standard error, degrees of freedom and p of pairs.

    The pairs have no gaps: one matrix product gives all their covariances.
    """
    data = sum_by_cluster(values, groups)
    a, b = pairs[:, 0], pairs[:, 1]
    shared = data.residuals.T @ data.residuals
    own = np.diag(shared)
    either = own[a] + own[b]
    variance = either - 2 * shared[a, b]
    error = np.sqrt(np.where(variance > _ROUNDING * either, variance, np.nan))
    error[data.clusters[a] <= 1] = np.nan
    if pass_fail and groups.alone:
        only = (values.T @ (1.0 - values)).round().astype(np.int64)
        p = mcnemar_p(only[a, b], only[b, a])
    else:
        p = sign_flip_p(data.sums, pairs)
    n = np.full(len(pairs), len(values))
    difference, degrees = data.means[a] - data.means[b], data.degrees_of_freedom[a]
    return n, data.clusters[a], difference, error, degrees, p


def _with_gaps(values: Floats, groups: Groups, pairs: Integers, *, pass_fail: bool) -> _Block:
    """Compute the same for pairs with missing numbers, each on its complete questions."""
    differences = values[:, pairs[:, 0]] - values[:, pairs[:, 1]]
    data = sum_by_cluster(differences, groups)
    error = np.where(_constant(data, differences), np.nan, data.std_errors)
    if pass_fail and groups.alone:
        gained, lost = (np.count_nonzero(differences == sign, axis=0) for sign in (1, -1))
        p = mcnemar_p(gained, lost)
    else:
        p = sign_flip_p(data.sums)
    degrees = data.degrees_of_freedom
    return data.n.astype(np.int64), data.clusters, data.means, error, degrees, p


def _constant(data: ClusterSums, differences: Floats) -> Booleans:
    """Return the pairs with equal differences, from which no variance can be estimated."""
    is_present = np.isfinite(differences)
    low = np.min(differences, axis=0, initial=np.inf, where=is_present)
    high = np.max(differences, axis=0, initial=-np.inf, where=is_present)
    constant: Booleans = (high <= low) | (data.n == 0)
    return constant


def _verdicts(difference: Floats, significant: Booleans, enough: Booleans, best: Best) -> list[str]:
    gain = difference if best == "high" else -difference
    chosen = np.select(
        [significant & (gain > 0), significant & (gain < 0), ~enough],
        [BETTER, WORSE, NOT_ENOUGH],
        TIED,
    )
    return [str(verdict) for verdict in chosen]
