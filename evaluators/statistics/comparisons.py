"""Paired comparisons of systems: the difference, and whether it is significant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import Groups, Independence, subtract, sum_by_cluster
from evaluators.statistics.holm import holm
from evaluators.statistics.intervals import Interval, no_variation_interval, t_interval
from evaluators.statistics.permutation_test import least_p, mcnemar_p, sign_flip_p
from evaluators.statistics.power import detectable_difference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from evaluators.statistics.clusters import ClusterSums

Best: TypeAlias = Literal["high", "low"]

BETTER, WORSE, TIED, NOT_ENOUGH = "better", "worse", "tied", "not_enough_data"

_ROUNDING = 1e-13
_ULPS = 4
"""How many units in the last place of a mean are only the rounding of its numbers."""
_BLOCK = 4_000_000
"""The most numbers in a block of pairs; this bounds the memory."""


class Outcomes(NamedTuple):
    """What the comparisons of all pairs say; every array has one element per pair.

    Attributes:
        pairs: Shape (pairs, 2): the positions of the two systems.
        n_pairs: The number of questions with numbers of both systems.
        difference: The mean of the first system's numbers minus the second's.
        signs: 1 if the first system is significantly better, -1 if it is worse, otherwise 0.
    """

    pairs: Integers
    n_pairs: Integers
    difference: Floats
    signs: Integers


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Compared pairs of systems; every array has one element per pair.

    Attributes:
        pairs: Shape (pairs, 2): the positions of the two systems.
        n_pairs: The number of questions with numbers of both systems.
        clusters: The number of clusters of these questions.
        difference: The mean of the first system's numbers minus the second's; 0 if it is only
            rounding.
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

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of these pairs."""
        verdicts = np.array(self.verdict, dtype=np.str_)
        signs = (verdicts == BETTER).astype(np.int64) - (verdicts == WORSE)
        return Outcomes(self.pairs, self.n_pairs, self.difference, signs)


def every_pair(systems: int, families: int = 1) -> Integers:
    """Return all pairs of systems, the earlier one first: shape (pairs, 2).

    Args:
        systems: The number of systems in each family.
        families: The number of families, one after the other.
    """
    pairs = np.stack(np.triu_indices(systems, 1), axis=1).astype(np.int64)
    offsets = systems * np.arange(families)[:, None, None]
    return (pairs + offsets).reshape(-1, 2)


def compare(
    values: Floats,
    groups: Groups,
    pairs: Integers,
    *,
    best: Best,
    pass_fail: Booleans | bool,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    families: int = 1,
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
        pairs: Shape (pairs, 2), as from `every_pair`: the families of Holm's adjustment.
        best: Whether high or low numbers are better.
        pass_fail: Whether every number is 0 or 1, of all systems or by system.
        bounds: The bounds of the numbers.
        families: The number of families: groups of systems, one after the other, that are compared
            among themselves. Each has the same number of pairs.

    Source: Miller, arXiv 2411.00640; McNemar 1947.
    """
    is_pass_fail = np.broadcast_to(np.asarray(pass_fail), values.shape[1])
    is_mcnemar: Booleans = is_pass_fail[pairs[:, 0]] & is_pass_fail[pairs[:, 1]] & groups.alone
    step = len(pairs)
    if np.isfinite(values).all():
        compare_block: Callable[..., Block] = _compare_complete
    else:
        tests = len(pairs) // families
        compare_block = partial(_compare_with_gaps, tests=tests)
        step = _BLOCK // max(1, len(values))
    step = max(1, step)
    blocks = [
        compare_block(values, groups, pairs[block], is_mcnemar[block], families)
        for block in (slice(at, at + step) for at in range(0, max(1, len(pairs)), step))
    ]
    found = Block(*(np.concatenate(each) for each in zip(*blocks, strict=True)))
    p = np.where(found.n > 0, found.p, np.nan)
    tests = np.count_nonzero(found.n.reshape(families, -1), axis=1)
    return conclude(
        without_noise(found, values, pairs),
        pairs,
        p,
        holm(p.reshape(families, -1)).ravel(),
        tests.repeat(len(pairs) // families),
        is_mcnemar=is_mcnemar,
        best=best,
        bounds=bounds,
    )


def conclude(
    found: Block,
    pairs: Integers,
    p: Floats,
    adjusted: Floats,
    tests: int | Integers,
    *,
    is_mcnemar: Booleans,
    best: Best,
    bounds: tuple[float, float],
) -> Comparisons:
    """Add intervals, detectable differences and verdicts to tested pairs.

    Args:
        found: The pairs, as from `without_noise`.
        pairs: Shape (pairs, 2): the positions of their systems.
        p: The p-values; NaN without a question.
        adjusted: The adjusted p-values.
        tests: The number of tests in the family, of all pairs or by pair.
        is_mcnemar: Whether McNemar's test compared the pair.
        best: Whether high or low numbers are better.
        bounds: The bounds of the numbers.
    """
    error = _without_rounding(found, bounds[1] - bounds[0])
    low, high = interval(found, bounds)
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


class Block(NamedTuple):
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

    def take(self, which: Integers) -> Block:
        """Return some of the pairs."""
        return self._replace(**{name: getattr(self, name)[which] for name in self._fields})


def _compare_complete(
    values: Floats, groups: Groups, pairs: Integers, is_mcnemar: Booleans, families: int
) -> Block:
    """Compare pairs without gaps."""
    found, data = measure_complete(values, groups, pairs, families)
    p = np.ones(len(pairs))
    if is_mcnemar.any():
        gained, lost = _count_discordant(values, pairs, families)
        p[is_mcnemar] = mcnemar_p(gained[is_mcnemar], lost[is_mcnemar])
    p[~is_mcnemar] = sign_flip_p(data.sums, pairs[~is_mcnemar], len(pairs) // families)
    return found._replace(p=p)


def measure_complete(
    values: Floats, groups: Groups, pairs: Integers, families: int = 1
) -> tuple[Block, ClusterSums]:
    """Return the differences of pairs without gaps, untested, and the sums of the clusters.

    One matrix product for each family gives the covariances of all its pairs.
    """
    data = sum_by_cluster(values, groups)
    a, b = pairs[:, 0], pairs[:, 1]
    either, variance = squared_distances(data.residuals, pairs, families)
    error = np.sqrt(np.where(variance > _ROUNDING * either, variance, 0.0))
    found = Block(
        n=np.full(len(pairs), len(values)),
        clusters=data.clusters[a],
        effective=data.effective_clusters[a],
        degrees=data.degrees_of_freedom[a],
        difference=data.means[a] - data.means[b] + 0.0,
        error=np.where(data.clusters[a] > 1, error, np.nan),
        size=np.maximum(np.abs(data.means[a]), np.abs(data.means[b])),
        p=np.full(len(pairs), np.nan),
    )
    return found, data


def squared_distances(columns: Floats, pairs: Integers, families: int = 1) -> tuple[Floats, Floats]:
    """Return the sum of the squared norms of each pair of columns, and their squared distance."""
    found = []
    for own, a, b in _each_family(columns, pairs, families):
        # What all systems share does not change their differences, but would cost precision.
        centred = own - own.mean(axis=1, keepdims=True)
        shared = centred.T @ centred
        norms = np.diag(shared)
        either = norms[a] + norms[b]
        found.append((either, either - 2 * shared[a, b]))
    either, distance = (np.concatenate(each) for each in zip(*found, strict=True))
    return either, distance


def _count_discordant(values: Floats, pairs: Integers, families: int) -> tuple[Integers, Integers]:
    """Return the questions that only the first, and only the second system of a pair passes."""
    found = []
    for own, a, b in _each_family(values, pairs, families):
        only = (own.T @ (1.0 - own)).round().astype(np.int64)
        found.append((only[a, b], only[b, a]))
    gained, lost = (np.concatenate(each) for each in zip(*found, strict=True))
    return gained, lost


def _each_family(
    columns: Floats, pairs: Integers, families: int
) -> Iterator[tuple[Floats, Integers, Integers]]:
    """Yield the columns of each family, and the positions of its pairs in them."""
    within = pairs % max(1, columns.shape[1] // families)
    for own, each in zip(
        np.split(columns, families, axis=1), within.reshape(families, -1, 2), strict=True
    ):
        yield own, each[:, 0], each[:, 1]


def _compare_with_gaps(
    values: Floats,
    groups: Groups,
    pairs: Integers,
    is_mcnemar: Booleans,
    _families: int,
    *,
    tests: int,
) -> Block:
    """Compare pairs with missing numbers, each on its complete questions."""
    differences = subtract(values, pairs)
    data = sum_by_cluster(differences, groups)
    gained, lost = (np.count_nonzero(differences == sign, axis=0) for sign in (1, -1))
    p = mcnemar_p(gained, lost)
    p[~is_mcnemar] = sign_flip_p(data.sums[:, ~is_mcnemar], tests=tests)
    return block_of(data, values, pairs)._replace(p=p)


def block_of(data: ClusterSums, values: Floats, pairs: Integers) -> Block:
    """Return pairs with gaps, untested, given their differences summed by cluster."""
    sizes = np.nanmax(np.abs(values), axis=0, initial=0.0)
    return Block(
        n=data.n.astype(np.int64),
        clusters=data.clusters,
        effective=data.effective_clusters,
        degrees=data.degrees_of_freedom,
        difference=data.means + 0.0,
        error=data.std_errors,
        size=sizes[pairs].max(axis=1),
        p=np.full(len(pairs), np.nan),
    )


def without_noise(found: Block, values: Floats, pairs: Integers) -> Block:
    """Return pairs without differences that only the order and the rounding of numbers make."""
    difference = found.difference.copy()
    is_small = (difference != 0) & (np.abs(difference) <= _ROUNDING * found.size)
    for at in np.flatnonzero(is_small):
        both = values[:, pairs[at]]
        both = both[np.isfinite(both).all(axis=1)]
        # A running sum depends on the order of its numbers; this one is exact.
        exact = math.fsum((both * (1.0, -1.0)).ravel()) / len(both)
        difference[at] = exact if abs(exact) > _ULPS * np.spacing(found.size[at]) else 0.0
    return found._replace(difference=difference)


def _without_rounding(found: Block, width: float) -> Floats:
    """Return the standard errors; 0 where the differences vary by rounding only."""
    scale = np.maximum(found.size, width if np.isfinite(width) else 0.0)
    is_rounding = found.error * np.sqrt(found.clusters) <= _ROUNDING * scale
    error: Floats = np.where(is_rounding, 0.0, found.error)
    return error


def interval(found: Block, bounds: tuple[float, float]) -> Interval:
    """Return the intervals of differences of numbers within these bounds."""
    width = bounds[1] - bounds[0]
    error = _without_rounding(found, width)
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
