"""Two systems, question by question: the difference, and whether it could be chance."""

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

    _Block: TypeAlias = tuple[Integers, Integers, Floats, Floats, Floats]

Best: TypeAlias = Literal["high", "low"]

POWER = 0.8
"""The probability with which the smallest detectable difference would be found."""

BETTER, WORSE, TIED, NOT_ENOUGH = "better", "worse", "tied", "not_enough_data"

_ROUNDING = 1e-13
_BLOCK = 4_000_000
"""Numbers in a block of pairs: it bounds the memory."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Pairs of systems; every array has one element a pair.

    Attributes:
        pairs: Shape (pairs, 2): the two systems, by position.
        n_pairs: The questions on which both have a number.
        clusters: The clusters of these questions.
        difference: The mean of the first one's number less the second one's.
        low: The lower end of its 95 % interval; NaN where all differences are equal.
        high: The upper end.
        p_value: Of the hypothesis that there is no difference.
        p_adjusted: The same, adjusted by Holm for all these pairs.
        detectable: The smallest difference that so many questions show with a power of 80 %.
        verdict: What is to be said of the first system: better, worse, tied, not_enough_data.
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
    """All pairs of so many systems, the earlier one first: shape (pairs, 2)."""
    return np.stack(np.triu_indices(systems, 1), axis=1).astype(np.int64)


def compare(
    values: Floats, groups: Groups, pairs: Integers, *, best: Best, pass_fail: bool
) -> Comparisons:
    """Compare pairs of systems on the questions that both have a number for.

    Passes and failures of independent questions are tested by McNemar's exact test, everything
    else by flipping the signs of clusters' differences. The interval is Student's, with the
    cluster-robust standard error of the differences. A system is better or worse when p says so
    and the interval does not include 0, as it may with few questions of which one differs far more
    than the others. There is not enough data where no answers whatever could have given a
    significant result.

    Args:
        values: Shape (questions, systems); NaN where there is no number.
        groups: Which questions belong together.
        pairs: Shape (pairs, 2), as `every_pair` gives them: the family that is adjusted for.
        best: Which numbers are better.
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
    n, found, difference, error, p = (np.concatenate(each) for each in zip(*blocks, strict=True))
    low, high = t_interval(difference, error, found)
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
            # An interval that does not exist (all differences are equal) contradicts nothing.
            (adjusted < LEVEL) & ~((low <= 0) & (high >= 0)),
            (n > 0) & (least_p(found) * tests < LEVEL),
            best,
        ),
    )


def detectable_difference(error: Floats) -> Floats:
    """The smallest true difference that a two-sided test finds with a power of 80 %.

    Args:
        error: The standard error of the difference.

    Source: Miller, arXiv 2411.00640, section 5.
    """
    from scipy.special import ndtri

    return error * float(ndtri(1 - LEVEL / 2) + ndtri(POWER))


def mcnemar_p(gained: Integers, lost: Integers) -> Floats:
    """The exact two-sided p-value of McNemar's test.

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
    """Questions, clusters, difference, standard error and p of pairs without a missing number.

    All pairs then follow from what each two systems have in common, which takes one matrix product.
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
    return n, data.clusters[a], data.means[a] - data.means[b], error, p


def _with_gaps(values: Floats, groups: Groups, pairs: Integers, *, pass_fail: bool) -> _Block:
    """The same for pairs that lack some numbers, each on the questions that it has."""
    differences = values[:, pairs[:, 0]] - values[:, pairs[:, 1]]
    data = sum_by_cluster(differences, groups)
    error = np.where(_constant(data, differences), np.nan, data.std_errors)
    if pass_fail and groups.alone:
        gained, lost = (np.count_nonzero(differences == sign, axis=0) for sign in (1, -1))
        p = mcnemar_p(gained, lost)
    else:
        p = sign_flip_p(data.sums)
    return data.n.astype(np.int64), data.clusters, data.means, error, p


def _constant(data: ClusterSums, differences: Floats) -> Booleans:
    """Where all differences of a pair are equal: then there is no variance to estimate from."""
    there = np.isfinite(differences)
    low = np.min(differences, axis=0, initial=np.inf, where=there)
    high = np.max(differences, axis=0, initial=-np.inf, where=there)
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
