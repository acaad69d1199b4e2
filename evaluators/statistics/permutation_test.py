"""The paired permutation test: p-values from random sign flips of differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.bootstrap import LARGE, SEED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evaluators.statistics.arrays import Booleans, Floats, Integers

FLIPS = 9_999
"""The number of random sign patterns; with the observed one there are 10,000."""

_RESOLVED = 10
"""With fewer exceedances than this, p comes from the normal distribution."""

_CHUNK = 4_000_000
_TOLERANCE = 1e-9


def sign_flip_p(differences: Floats, pairs: Integers | None = None) -> Floats:
    """Return two-sided p-values of a sign-flip test over clusters.

    With few clusters, all sign patterns are enumerated, so p is exact; with more, 9,999 random
    patterns are used, the same for all columns. If fewer than ten of them reach the observed sum,
    and above `LARGE` clusters, p comes from the limiting normal distribution, but is never below
    the share of one pattern and its mirror image.

    Args:
        differences: Shape (clusters, columns): the sum of the differences in each cluster. With
            `pairs`, the sums of the numbers, one column per system.
        pairs: Shape (tests, 2): the columns of each tested difference; None: one test per column.

    Returns:
        One p-value per test; 1 if all differences are 0.

    Source: Fisher's randomisation test for pairs; random patterns after Phipson and Smyth 2010.
    """
    observed, squares, clusters = _moments(differences, pairs)
    normal = _normal_p(observed, squares, clusters)
    total = len(differences)
    if total > LARGE or not len(observed):
        return normal
    exact = 2**total <= FLIPS
    reached = np.zeros(len(observed), dtype=np.int64)
    least = np.abs(observed) - _TOLERANCE * np.sqrt(squares)
    for signs in _patterns(total, max(total, len(observed))):
        sums = signs @ differences
        flipped = sums if pairs is None else sums[:, pairs[:, 0]] - sums[:, pairs[:, 1]]
        reached += np.count_nonzero(np.abs(flipped) >= least, axis=0)
    if exact:
        exact_p: Floats = reached / 2**total
        return exact_p
    return np.where(reached < _RESOLVED, normal, (1 + reached) / (1 + FLIPS))


def least_p(clusters: Integers) -> Floats:
    """Return the smallest possible p-value: all clusters differ in one direction."""
    return np.minimum(1.0, np.exp2(1.0 - np.asarray(clusters, dtype=np.float64)))


def _moments(differences: Floats, pairs: Integers | None) -> tuple[Floats, Floats, Integers]:
    """Return each test's observed sum, its variance under random signs, and nonzero clusters."""
    if pairs is None:
        differs: Booleans = differences != 0
        squares = np.einsum("ij,ij->j", differences, differences)
        return differences.sum(axis=0), squares, np.count_nonzero(differs, axis=0)
    sums = differences.sum(axis=0)
    products = differences.T @ differences
    own = np.diag(products)
    a, b = pairs[:, 0], pairs[:, 1]
    squares = np.maximum(own[a] + own[b] - 2 * products[a, b], 0.0)
    squares[squares <= _TOLERANCE**2 * (own[a] + own[b])] = 0.0
    return sums[a] - sums[b], squares, np.full(len(pairs), len(differences))


def _normal_p(observed: Floats, squares: Floats, clusters: Integers) -> Floats:
    from scipy.special import ndtr

    nothing = np.zeros(len(observed))
    z = np.divide(np.abs(observed), np.sqrt(squares), out=nothing, where=squares > 0)
    normal: Floats = np.maximum(2 * ndtr(-z), least_p(clusters))
    return np.where(squares > 0, normal, 1.0)


def _patterns(clusters: int, width: int) -> Iterator[Floats]:
    """Yield sign patterns in blocks of shape (n, clusters): all patterns, or `FLIPS` random ones.

    Args:
        clusters: The number of signs in a pattern.
        width: The numbers in memory per pattern.
    """
    step = max(1, _CHUNK // max(1, width))
    everything = 2**clusters if clusters < FLIPS.bit_length() else FLIPS + 1
    if everything <= FLIPS:
        for start in range(0, everything, step):
            numbers = np.arange(start, min(start + step, everything))[:, None]
            yield 1.0 - 2.0 * ((numbers >> np.arange(clusters)) & 1).astype(np.float64)
        return
    generator = np.random.default_rng(SEED)
    for start in range(0, FLIPS, step):
        yield _random_signs(generator, min(step, FLIPS - start), clusters)


def _random_signs(generator: np.random.Generator, rows: int, clusters: int) -> Floats:
    width = -(-clusters // 8)
    drawn = np.frombuffer(generator.bytes(rows * width), dtype=np.uint8).reshape(rows, width)
    bits: NDArray[np.uint8] = np.unpackbits(drawn, axis=1, count=clusters)
    signs = bits.astype(np.float64)
    signs *= -2.0
    signs += 1.0
    return signs
