"""The paired permutation test: p-values from sign flips of the clusters' differences."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.arrays import LEVEL, SEED
from evaluators.statistics.clusters import subtract

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluators.statistics.arrays import Booleans, Floats, Integers

FLIPS = 9_999
"""The number of random sign patterns; with the observed one there are 10,000."""

MOST_FLIPS = 999_999
"""The most random sign patterns for pairs that fewer cannot decide."""

FEW = 20
"""Up to this many nonzero differences, all sign patterns are counted."""

_SMALL = 0.02
"""Sums of differences that are all below this share of their norm are normal, within 16 %."""

_REACHED = 20
"""So many patterns should reach the sum of a pair at the smallest step of Holm's adjustment."""

_CONSTANT = 3.178
"""The constant of Bentkus and Dzindzalieta, 1 / (4 P(Z >= sqrt(2)))."""

_FIRST = 512
"""The patterns after which tests that need no more are left out."""

_WORK = 10**8
"""The most numbers to draw and to compare in a round of more than 9,999 patterns."""

_CHUNK = 4_000_000

_BLOCK = 640_000
"""So many numbers, at least of 64 patterns, are multiplied at once: more leave the cache."""

_EXACT_TESTS = 4_000
"""The most exact tests whose differences are copied at once."""

_CACHED = 2**16
"""So many numbers stay in the cache of the processor between the steps of a computation."""

_KEPT = 1_000_000
"""So many signs are kept for the next test of the same size, in 8 MB."""

_TOLERANCE = 1e-9


def sign_flip_p(
    differences: Floats, pairs: Integers | None = None, tests: int | None = None
) -> Floats:
    """Return two-sided p-values of a sign-flip test over clusters.

    Differences of 0 are left out: their signs change nothing. Up to 20 others, all sign patterns
    are counted, so p is exact. Otherwise p is the share of random patterns that reach the observed
    sum, (1 + reached) / (1 + patterns): 9,999 patterns, and up to 999,999 where Holm's adjustment
    needs a smaller p. There are two cases without random patterns:

    * No pattern of many can reach the sum: p is the bound of Bentkus and Dzindzalieta, 3.178 times
      the normal tail, which holds for all differences.
    * All differences are below 2 % of their norm: the sum is normal. A continuity correction by
      the largest difference makes p at most 16 % too large, and never too small.

    Args:
        differences: Shape (clusters, columns): the sum of the differences in each cluster. With
            `pairs`, the sums of the numbers, one column per system.
        pairs: Shape (tests, 2): the columns of each tested difference; None: one test per column.
        tests: The number of tests in the family of Holm's adjustment; None: those given.

    Returns:
        One p-value per test; 1 if all differences are 0.

    Source: Fisher's randomisation test for pairs; Phipson and Smyth 2010; Bentkus and Dzindzalieta,
    "A tight Gaussian bound for weighted sums of Rademacher random variables", 2015.
    """
    from scipy.special import ndtr

    count = differences.shape[1] if pairs is None else len(pairs)
    family = count if tests is None else tests

    def columns(which: Integers) -> Floats:
        return differences[:, which] if pairs is None else subtract(differences, pairs[which])

    sums = _summarize(columns, count, len(differences))
    p = np.ones(count)
    few = (sums.nonzero <= FEW) & (sums.nonzero > 0)
    _set_exact(p, columns, np.flatnonzero(few), sums.nonzero)
    many = sums.nonzero > FEW
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.abs(sums.observed) / sums.norm
        largest = sums.largest / sums.norm
        normal_p = np.minimum(1.0, 2 * ndtr(largest - z))
    bound = np.where(many, flip_bound(z), 1.0)
    normal = many & (largest <= _SMALL)
    p[normal] = normal_p[normal]
    # Even the smallest share of patterns is larger than the bound, and Holm needs no more.
    beyond = many & ~normal & (bound * (1 + FLIPS) <= 1) & (bound * family < LEVEL)
    p[beyond] = bound[beyond]
    pending = np.flatnonzero(many & ~normal & ~beyond)
    least = np.abs(sums.observed) - _TOLERANCE * sums.norm
    flips = FLIPS
    # Each round leaves only smaller p-values to the next, so those of every round are valid.
    while len(pending):
        reached = _count_reached(differences, pairs, pending, least[pending], flips)
        own = bound[pending]
        p[pending] = np.where(own * (1 + flips) <= 1, own, (1 + reached) / (1 + flips))
        pending = pending[reached < _undecided(flips, family)]
        more = min(10 * flips, _most_flips(len(differences) + len(pending), family))
        if more < 2 * flips:
            break
        flips = more
    return p


def screened_sign_flip_p(differences: Floats, is_wanted: Booleans, threshold: float) -> Floats:
    """Return p-values as `sign_flip_p` does, but only those that matter in a large family.

    There are never more than 9,999 random patterns, so that no p-value depends on other columns. A
    p-value below 1 / 10,000 of more than 20 differences is always the bound.

    Args:
        differences: Shape (clusters, columns): the sum of the differences in each cluster.
        is_wanted: Shape (columns,): the columns whose p-value is needed in any case.
        threshold: The p-values below which the others are needed.

    Returns:
        One p-value per column; one that is not needed may be larger or smaller, but not smaller
        than the threshold.
    """
    from scipy.special import ndtr

    positive = np.count_nonzero(differences > 0, axis=0)
    negative = np.count_nonzero(differences < 0, axis=0)
    # All patterns that turn differences in the less frequent direction reach the sum.
    least_found = np.exp2(1.0 - np.maximum(positive, negative))
    is_needed = is_wanted | (positive + negative > FEW) | (least_found < threshold)
    every_p = np.ones(differences.shape[1])
    differences, is_wanted = differences[:, is_needed], is_wanted[is_needed]

    def columns(which: Integers) -> Floats:
        return differences[:, which]

    count = differences.shape[1]
    sums = _summarize(columns, count, len(differences))
    # The last digits of these sums do not depend on other columns.
    norm = np.sqrt(np.square(np.asfortranarray(differences)).sum(axis=0))
    sums = sums._replace(norm=norm)
    p = np.ones(count)
    few = (sums.nonzero <= FEW) & (sums.nonzero > 0)
    _set_exact(p, columns, np.flatnonzero(few), sums.nonzero)
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.abs(sums.observed) / sums.norm
        largest = sums.largest / sums.norm
        bound, normal_p = flip_bound(z), np.minimum(1.0, 2 * ndtr(largest - z))
    many = sums.nonzero > FEW
    is_bound = many & (bound * (1 + FLIPS) <= 1)
    is_normal = many & ~is_bound & (largest <= _SMALL)
    p[is_bound], p[is_normal] = bound[is_bound], normal_p[is_normal]
    least = np.abs(sums.observed) - _TOLERANCE * sums.norm
    random = many & ~is_bound & ~is_normal
    for chosen, enough in (
        (random & is_wanted, np.inf),
        # So many patterns make p reach the threshold.
        (random & ~is_wanted, threshold * (1 + FLIPS)),
    ):
        which = np.flatnonzero(chosen if enough > 1 else np.zeros(count, dtype=np.bool_))
        reached = _count_reached(differences, None, which, least[which], FLIPS, enough)
        p[which] = (1 + reached) / (1 + FLIPS)
    every_p[is_needed] = p
    return every_p


def flip_bound(z: Floats) -> Floats:
    """Return the bound of Bentkus and Dzindzalieta: no p-value of such a sum is larger.

    Args:
        z: The absolute sums of differences, divided by their norms.
    """
    from scipy.special import ndtr

    bound: Floats = np.minimum(1.0, 2 * _CONSTANT * ndtr(-z))
    return bound


def draws_more(clusters: int, tests: int) -> bool:
    """Return whether undecided pairs of a family may get more than 9,999 patterns."""
    return clusters > FEW and _most_flips(clusters, tests) >= 2 * FLIPS


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


def least_p(clusters: Integers | Floats) -> Floats:
    """Return the smallest possible p-value: all clusters differ in one direction."""
    return np.minimum(1.0, np.exp2(1.0 - np.asarray(clusters, dtype=np.float64)))


class _Sums(NamedTuple):
    """Each test's observed sum, Euclidean norm, largest size, and number of nonzero differences."""

    observed: Floats
    norm: Floats
    largest: Floats
    nonzero: Integers


def _summarize(columns: Callable[[Integers], Floats], count: int, clusters: int) -> _Sums:
    observed, norm, largest = np.zeros((3, count))
    nonzero = np.zeros(count, dtype=np.int64)
    step = max(1, _CHUNK // 16 // max(1, clusters))
    for start in range(0, count if clusters else 0, step):
        block = slice(start, start + step)
        differences = columns(np.arange(start, min(start + step, count)))
        observed[block] = differences.sum(axis=0)
        norm[block] = np.sqrt(np.einsum("ij,ij->j", differences, differences))
        largest[block] = np.maximum(differences.max(axis=0), -differences.min(axis=0))
        nonzero[block] = np.count_nonzero(differences, axis=0)
    # The squares of subnormal numbers are 0.
    return _Sums(observed, norm, largest, np.where(norm > 0, nonzero, 0))


def _set_exact(
    p: Floats, columns: Callable[[Integers], Floats], tests: Integers, nonzero: Integers
) -> None:
    """Set the exact p-values of tests with few nonzero differences."""
    for start in range(0, len(tests), _EXACT_TESTS):
        which = tests[start : start + _EXACT_TESTS]
        p[which] = np.minimum(1.0, np.ldexp(_count_reaching(columns(which)), 1 - nonzero[which]))


def _count_reaching(differences: Floats) -> Floats:
    """Return how many sign patterns of each column's nonzero differences reach its observed sum.

    A difference that is larger than what such a pattern may lose has the same sign in all of them.
    Many tests have only few other differences, and only the patterns of these are counted.
    """
    sizes = np.abs(differences.T)
    norm = np.sqrt(np.einsum("ij,ij->i", sizes, sizes))
    least = np.abs(differences.sum(axis=0)) - _TOLERANCE * norm
    is_free = (sizes > 0) & (2 * sizes <= (sizes.sum(axis=1) - least)[:, None])
    least -= np.where(is_free, 0.0, sizes).sum(axis=1)
    free = np.count_nonzero(is_free, axis=1)
    reached = np.empty(len(sizes))
    for count in np.unique(free):
        which = np.flatnonzero(free == count)
        # Boolean indexing goes by rows, and each row has as many free differences.
        own = sizes[which][is_free[which]].reshape(len(which), count)
        step = max(1, _CACHED // 4 >> (count + 1) // 2)
        for start in range(0, len(which), step):
            some = slice(start, start + step)
            reached[which[some]] = _count_patterns(own[some], least[which[some]])
    return reached


def _count_patterns(sizes: Floats, least: Floats) -> Integers:
    """Return how many sign patterns of each row have at least a given sum.

    The sums of one half of a row are sorted together with what they need from the other half, so
    that 2 x 1,024 numbers stand for all patterns of 20. The last bit of each tells the two apart.
    """
    half = sizes.shape[1] // 2
    one, other = _sign_patterns(half), _sign_patterns(sizes.shape[1] - half)
    needed = one.shape[1]
    both = np.empty((len(sizes), needed + other.shape[1]))
    np.subtract(least[:, None], sizes[:, :half] @ one, out=both[:, :needed])
    np.matmul(sizes[:, half:], other, out=both[:, needed:])
    bits = both.view(np.int64)
    bits[:, :needed] &= ~1
    bits[:, needed:] |= 1
    both.sort(axis=1)
    # The position of a sum is the number of smaller sums and of what it is enough for.
    reached: Integers = (bits & 1) @ np.arange(both.shape[1]) - math.comb(other.shape[1], 2)
    return reached


@lru_cache(maxsize=FEW)
def _sign_patterns(count: int) -> Floats:
    """Return all patterns of 1 and -1: shape (count, 2 ** count)."""
    flipped = np.arange(2**count) >> np.arange(count)[:, None] & 1
    patterns: Floats = np.where(flipped, -1.0, 1.0)
    return patterns


def _undecided(flips: int, family: int) -> float:
    """Return how many patterns may reach a sum that is significant at Holm's smallest step."""
    expected = (1 + flips) * LEVEL / family
    return float(expected + 4 * np.sqrt(expected) + 4)


def _most_flips(width: int, family: int) -> int:
    """Return how many patterns resolve the smallest step of Holm's adjustment, within bounds."""
    return min(int(_REACHED * family / LEVEL), MOST_FLIPS, _WORK // max(1, width))


def _count_reached(
    differences: Floats,
    pairs: Integers | None,
    tests: Integers,
    least: Floats,
    flips: int,
    enough: float = np.inf,
) -> Integers:
    """Count the random patterns under which each of some tests reaches its observed sum.

    Tests with `enough` of them are not counted further.
    """
    if pairs is None:
        used, sums = tests, differences[:, tests]
    else:
        used, positions = np.unique(pairs[tests], return_inverse=True)
        a, b = positions.reshape(-1, 2).T
        sums = differences[:, used]
        # What all systems share does not matter, but would cost precision.
        sums = sums - sums.mean(axis=1, keepdims=True) if len(used) else sums
    reached = np.zeros(len(tests), dtype=np.int64)
    clusters = len(differences)
    step = max(1, _CHUNK // max(1, clusters, sums.shape[1]))
    if flips * clusters > _KEPT:
        step = min(step, max(64, _BLOCK // clusters))
    if np.isfinite(enough):
        step = min(step, _FIRST)
    counting = np.arange(len(tests))
    for is_flipped in _random_patterns(flips if len(tests) else 0, clusters, step):
        # This order of the product is several times as fast as the transposed one.
        flipped = sums.sum(axis=0) - 2.0 * (is_flipped @ sums)
        flipped = np.ascontiguousarray(flipped.T)
        size = max(1, _CACHED // len(is_flipped))
        for start in range(0, len(counting), size):
            some = slice(start, start + size)
            own = flipped[some] if pairs is None else flipped[a[some]] - flipped[b[some]]
            np.abs(own, out=own)
            which = counting[some]
            reached[which] += _count_true(own >= least[which, None])
        if pairs is None and (is_open := reached[counting] < enough).sum() < len(counting) / 2:
            counting, sums = counting[is_open], sums[:, is_open]
            if not len(counting):
                break
    return reached


def _count_true(flags: Booleans) -> Integers:
    """Return the number of true values in each row."""
    counts: Integers = np.bitwise_count(np.packbits(flags, axis=1)).sum(axis=1, dtype=np.int64)
    return counts


def _random_patterns(rows: int, clusters: int, step: int) -> Iterator[Floats]:
    """Yield random patterns in blocks of at most `step` rows: shape (n, clusters).

    A 1 flips the sign of a cluster, a 0 does not.
    """
    if 0 < rows <= step and rows * clusters <= _KEPT:
        yield _draw_all(rows, clusters)
        return
    generator = np.random.default_rng(SEED)
    # The next block overwrites the one before.
    block = np.empty((min(step, rows), clusters))
    for start in range(0, rows, step):
        yield _draw(generator, block[: min(step, rows - start)])


@lru_cache(maxsize=1)
def _draw_all(rows: int, clusters: int) -> Floats:
    """Return the patterns of a small test, which the next metric or benchmark often needs again."""
    return _draw(np.random.default_rng(SEED), np.empty((rows, clusters)))


def _draw(generator: np.random.Generator, patterns: Floats) -> Floats:
    """Fill an array with random patterns, and return it."""
    rows, clusters = patterns.shape
    # Whole words of 64 bits: the same patterns for any size of the blocks.
    width = 8 * -(-clusters // 64)
    bits = np.frombuffer(generator.bytes(rows * width), dtype=np.uint8).reshape(-1, width)
    np.copyto(patterns, np.unpackbits(bits, axis=1, count=clusters))
    return patterns
