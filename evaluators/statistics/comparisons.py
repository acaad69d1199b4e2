"""Paired comparisons of systems: the difference, and whether it is significant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import Groups, Independence, sum_by_cluster
from evaluators.statistics.holm import holm
from evaluators.statistics.intervals import Interval, no_variation_interval, t_interval
from evaluators.statistics.permutation_test import least_p, sign_flip_p, subtract
from evaluators.statistics.power import detectable_difference

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers

Best: TypeAlias = Literal["high", "low"]

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
        std_error: The standard error of the difference; 0 without variation, NaN for a single
            cluster.
        degrees: The degrees of freedom of the standard error.
        low: The lower end of the 95 % interval; NaN for a single cluster, and for equal differences
            on an unbounded scale.
        high: The upper end.
        p_value: The p-value of the hypothesis that there is no difference.
        p_adjusted: The p-value after Holm's adjustment for all these pairs.
        detectable: The smallest difference that these questions detect with a power of 80 %; NaN
            without variation, and if no outcome could be significant.
        verdict: The verdict on the first system: better, worse, tied, not_enough_data.
    """

    pairs: Integers
    n_pairs: Integers
    clusters: Integers
    difference: Floats
    std_error: Floats
    degrees: Floats
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
    values: Floats,
    groups: Groups,
    pairs: Integers,
    *,
    best: Best,
    pass_fail: Booleans | bool,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Comparisons:
    """Compare pairs of systems on the questions for which both have a number.

    Passes and failures of independent questions are tested by McNemar's exact test, everything else
    by a permutation test that flips the signs of the clusters' differences. The interval is
    Student's, with the cluster-robust standard error of the differences, clipped to the differences
    that the bounds allow. If all differences are equal, the interval is that of
    `no_variation_interval`. A system is better or worse if p is significant and the interval
    excludes 0; with few questions, one large difference can make the two disagree. There is not
    enough data if no possible answers could give a significant result.

    Args:
        values: Shape (questions, systems); NaN where a number is missing.
        groups: The clusters of the questions.
        pairs: Shape (pairs, 2), as from `every_pair`: the family of Holm's adjustment.
        best: Whether high or low numbers are better.
        pass_fail: Whether every number is 0 or 1, of all systems or by system.
        bounds: The bounds of the numbers.

    Source: Miller, arXiv 2411.00640; McNemar 1947.
    """
    is_pass_fail = np.broadcast_to(np.asarray(pass_fail), values.shape[1])
    is_mcnemar: Booleans = is_pass_fail[pairs[:, 0]] & is_pass_fail[pairs[:, 1]] & groups.alone
    step = len(pairs)
    if np.isfinite(values).all():
        compare_block = _compare_complete
    else:
        compare_block, step = _compare_with_gaps, _BLOCK // max(1, len(values))
    step = max(1, step)
    blocks = [
        compare_block(values, groups, pairs[block], is_mcnemar[block], len(pairs))
        for block in (slice(at, at + step) for at in range(0, max(1, len(pairs)), step))
    ]
    found = _Block(*(np.concatenate(each) for each in zip(*blocks, strict=True)))
    width = bounds[1] - bounds[0]
    error = _without_rounding(found, width)
    low, high = _interval(found, error, width)
    p = np.where(found.n > 0, found.p, np.nan)
    adjusted = holm(p)
    tests = int(np.count_nonzero(found.n))
    return Comparisons(
        pairs=pairs,
        n_pairs=found.n,
        clusters=found.clusters,
        difference=found.difference,
        std_error=error,
        degrees=found.degrees,
        low=low,
        high=high,
        p_value=p,
        p_adjusted=adjusted,
        detectable=detectable_difference(
            error,
            found.clusters,
            found.degrees,
            tests=tests,
            is_mcnemar=is_mcnemar,
        ),
        verdict=_verdicts(
            found.difference,
            # A missing interval does not contradict significance.
            (adjusted < LEVEL) & ~((low <= 0) & (high >= 0)),
            (found.n > 0) & (least_p(found.clusters) * tests < LEVEL),
            best,
        ),
    )


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


class _Block(NamedTuple):
    """Compared pairs; every array has one element per pair.

    Attributes:
        n: The number of questions.
        clusters: The number of clusters.
        effective: The effective number of clusters.
        degrees: The degrees of freedom of the standard error.
        difference: The mean difference.
        error: The standard error of the difference, with rounding errors.
        size: The larger absolute value of the two means, for the size of rounding errors.
        p: The p-value.
    """

    n: Integers
    clusters: Integers
    effective: Floats
    degrees: Floats
    difference: Floats
    error: Floats
    size: Floats
    p: Floats


def _compare_complete(
    values: Floats, groups: Groups, pairs: Integers, is_mcnemar: Booleans, tests: int
) -> _Block:
    """Compare pairs without gaps. One matrix product gives the covariances of all pairs."""
    data = sum_by_cluster(values, groups)
    a, b = pairs[:, 0], pairs[:, 1]
    # What all systems share does not change their differences, but would cost precision.
    residuals = data.residuals - data.residuals.mean(axis=1, keepdims=True)
    shared = residuals.T @ residuals
    own = np.diag(shared)
    either = own[a] + own[b]
    variance = either - 2 * shared[a, b]
    error = np.sqrt(np.where(variance > _ROUNDING * either, variance, 0.0))
    p = np.ones(len(pairs))
    if is_mcnemar.any():
        only = (values.T @ (1.0 - values)).round().astype(np.int64)
        p[is_mcnemar] = mcnemar_p(only[a, b], only[b, a])[is_mcnemar]
    p[~is_mcnemar] = sign_flip_p(data.sums, pairs[~is_mcnemar], tests)
    return _Block(
        n=np.full(len(pairs), len(values)),
        clusters=data.clusters[a],
        effective=data.effective_clusters[a],
        degrees=data.degrees_of_freedom[a],
        difference=data.means[a] - data.means[b] + 0.0,
        error=np.where(data.clusters[a] > 1, error, np.nan),
        size=np.maximum(np.abs(data.means[a]), np.abs(data.means[b])),
        p=p,
    )


def _compare_with_gaps(
    values: Floats, groups: Groups, pairs: Integers, is_mcnemar: Booleans, tests: int
) -> _Block:
    """Compare pairs with missing numbers, each on its complete questions."""
    differences = subtract(values, pairs)
    data = sum_by_cluster(differences, groups)
    gained, lost = (np.count_nonzero(differences == sign, axis=0) for sign in (1, -1))
    p = mcnemar_p(gained, lost)
    p[~is_mcnemar] = sign_flip_p(data.sums[:, ~is_mcnemar], tests=tests)
    sizes = np.nanmax(np.abs(values), axis=0, initial=0.0)
    return _Block(
        n=data.n.astype(np.int64),
        clusters=data.clusters,
        effective=data.effective_clusters,
        degrees=data.degrees_of_freedom,
        difference=data.means + 0.0,
        error=data.std_errors,
        size=sizes[pairs].max(axis=1),
        p=p,
    )


def _without_rounding(found: _Block, width: float) -> Floats:
    """Return the standard errors; 0 where the differences vary by rounding only."""
    scale = np.maximum(found.size, width if np.isfinite(width) else 0.0)
    is_rounding = found.error * np.sqrt(found.clusters) <= _ROUNDING * scale
    error: Floats = np.where(is_rounding, 0.0, found.error)
    return error


def _interval(found: _Block, error: Floats, width: float) -> Interval:
    """Return the intervals of the differences, which lie between `-width` and `width`."""
    basis = Independence(found.clusters, found.effective, found.degrees)
    unseen = no_variation_interval(found.difference, basis, (-width, width))
    student = t_interval(found.difference, error, found.degrees)
    low, high = (np.where(error == 0, *ends) for ends in zip(unseen, student, strict=True))
    # Adding 0 removes the sign of a negative zero.
    return Interval(np.maximum(low, -width) + 0.0, np.minimum(high, width) + 0.0)


def _verdicts(difference: Floats, significant: Booleans, enough: Booleans, best: Best) -> list[str]:
    gain = difference if best == "high" else -difference
    chosen = np.select(
        [significant & (gain > 0), significant & (gain < 0), ~enough],
        [BETTER, WORSE, NOT_ENOUGH],
        TIED,
    )
    return [str(verdict) for verdict in chosen]
