"""Many systems: the verdicts on all their pairs, and the comparisons of only some."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import subtract, sum_by_cluster
from evaluators.statistics.comparisons import (
    Block,
    Comparisons,
    Outcomes,
    block_of,
    conclude,
    interval,
    measure_complete,
    squared_distances,
    without_noise,
)
from evaluators.statistics.permutation_test import (
    FEW,
    flip_bound,
    mcnemar_p,
    screened_sign_flip_p,
)

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from evaluators.statistics.clusters import Groups
    from evaluators.statistics.comparisons import Best

LARGE = 500
"""Families of more pairs than this are compared by `compare_some`, unless all are stored."""

_FAR = np.sqrt(FEW) * (1 + 1e-9)
"""A sum of differences above so many norms has more than 20 nonzero ones (Cauchy-Schwarz)."""

_NEAR = 1.0
"""At least 3/16 of all patterns reach a sum of up to so many norms (Dvorak and Klein 2022)."""

_ROUNDING = 1e-13
_BLOCK = 4_000_000


def compare_some(
    values: Floats,
    groups: Groups,
    pairs: Integers,
    is_wanted: Booleans,
    *,
    best: Best,
    pass_fail: Booleans,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[Comparisons, Outcomes]:
    """Compare some pairs of a large family, with verdicts that hold for all pairs together.

    The verdicts on all pairs are those of Holm's adjustment. It needs p-values only where they are
    small: matrix products give the sums and norms of the differences of all pairs, and they exclude
    most pairs. There are two simplifications, so that no pair's result depends on which pairs are
    wanted. No p-value rests on more than 9,999 random patterns: below 1 / 10,000 it is the bound of
    Bentkus and Dzindzalieta. And the adjusted p of a pair that is not significant is p times the
    number of pairs that are not, which is at least Holm's.

    Args:
        values: Shape (questions, systems); NaN where a number is missing.
        groups: The clusters of the questions.
        pairs: The result of `every_pair`, the family of Holm's adjustment.
        is_wanted: Shape (pairs,): the pairs to return.
        best: Whether high or low numbers are better.
        pass_fail: Shape (systems,): whether every number of the system is 0 or 1.
        bounds: The bounds of the numbers.

    Returns:
        The wanted comparisons, and the outcomes of all pairs.
    """
    found, total, norm = _measure(values, groups, pairs)
    is_tested = found.n > 0
    is_mcnemar: Booleans = pass_fail[pairs[:, 0]] & pass_fail[pairs[:, 1]] & groups.alone
    p = np.ones(len(pairs))
    if is_mcnemar.any():
        p[is_mcnemar] = _mcnemar(values, pairs[is_mcnemar])
    with np.errstate(invalid="ignore", divide="ignore"):
        z = np.where(norm > 0, np.abs(total) / norm, 0.0)
    is_far = ~is_mcnemar & (z > _FAR)
    p[is_far] = flip_bound(z[is_far])
    is_large = np.where(is_mcnemar, p >= LEVEL, z <= _NEAR)
    # Holm's adjustment multiplies a significant p by more than the number of large ones.
    threshold = LEVEL / (1 + np.count_nonzero(is_large & is_tested))
    is_close = ~is_mcnemar & ~is_far & is_tested
    is_close &= is_wanted | (~is_large & (threshold > 0.5 ** (FEW - 1)))
    p[is_close] = _sign_flip_p(values, groups, pairs[is_close], is_wanted[is_close], threshold)
    p[~is_tested] = np.nan
    adjusted = _adjust(p)
    signs = np.zeros(len(pairs), dtype=np.int64)
    chosen = np.flatnonzero(adjusted < LEVEL)
    low, high = interval(found.take(chosen), bounds)
    is_clear = ~((low <= 0) & (high >= 0))
    gain = found.difference if best == "high" else -found.difference
    signs[chosen] = np.where(is_clear, np.sign(gain[chosen]), 0)
    wanted = np.flatnonzero(is_wanted)
    compared = conclude(
        without_noise(found.take(wanted), values, pairs[wanted]),
        pairs[wanted],
        p[wanted],
        adjusted[wanted],
        int(np.count_nonzero(is_tested)),
        is_mcnemar=is_mcnemar[wanted],
        best=best,
        bounds=bounds,
    )
    return compared, Outcomes(pairs, found.n, found.difference, signs)


def _adjust(p: Floats) -> Floats:
    """Return Holm's adjusted p-values where they are significant, upper bounds elsewhere."""
    tests = int(np.isfinite(p).sum())
    small = np.flatnonzero(p < LEVEL)
    order = small[np.argsort(p[small])]
    stepped = np.maximum.accumulate(p[order] * (tests - np.arange(len(order))))
    rejected = int(np.count_nonzero(stepped < LEVEL))
    adjusted = np.minimum(1.0, p * (tests - rejected))
    adjusted[order[:rejected]] = stepped[:rejected]
    return adjusted


def _measure(values: Floats, groups: Groups, pairs: Integers) -> tuple[Block, Floats, Floats]:
    """Return the differences of all pairs, with the sums over clusters and their norms."""
    if np.isfinite(values).all():
        found, data = measure_complete(values, groups, pairs)
        either, squares = squared_distances(data.sums, pairs)
        norm = np.sqrt(np.where(squares > _ROUNDING * either, squares, 0.0))
        return found, found.difference * found.n, norm
    return _measure_questions(values, pairs) if groups.alone else _by_blocks(values, groups, pairs)


def _measure_questions(values: Floats, pairs: Integers) -> tuple[Block, Floats, Floats]:
    """Measure pairs of systems with gaps, if each question is its own cluster."""
    a, b = pairs[:, 0], pairs[:, 1]
    is_present = np.isfinite(values)
    here = is_present.astype(np.float64)
    counts = here.sum(axis=1, keepdims=True)
    level = np.where(is_present, values, 0.0).sum(axis=1, keepdims=True) / np.maximum(1.0, counts)
    # What all systems share does not change their differences, but would cost precision.
    centred = np.where(is_present, values - level, 0.0)
    n = (here.T @ here)[a, b]
    sums = centred.T @ here
    total = sums[a, b] - sums[b, a]
    squares = (centred**2).T @ here
    either = squares[a, b] + squares[b, a]
    distance = either - 2 * (centred.T @ centred)[a, b]
    norm = np.sqrt(np.where(distance > _ROUNDING * either, distance, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.where(n > 0, total / n, np.nan)
        variance = norm**2 - total * difference
        variance = np.where(variance > _ROUNDING * norm**2, variance, 0.0)
        error = np.where(n > 1, np.sqrt(variance / (n * (n - 1))), np.nan)
    sizes = np.nanmax(np.abs(values), axis=0, initial=0.0)
    found = Block(
        n=n.astype(np.int64),
        clusters=n.astype(np.int64),
        effective=n,
        degrees=np.maximum(n - 1.0, 0.0),
        difference=difference + 0.0,
        error=error,
        size=np.maximum(sizes[a], sizes[b]),
        p=np.full(len(pairs), np.nan),
    )
    return found, total, norm


def _by_blocks(values: Floats, groups: Groups, pairs: Integers) -> tuple[Block, Floats, Floats]:
    """Measure pairs of systems with gaps in clusters of questions, one by one."""
    blocks = []
    step = max(1, _BLOCK // max(1, len(values)))
    for start in range(0, len(pairs), step):
        some = pairs[start : start + step]
        data = sum_by_cluster(subtract(values, some), groups)
        found = block_of(data, values, some)
        blocks.append((*found, data.sums.sum(axis=0), np.sqrt((data.sums**2).sum(axis=0))))
    *found_columns, total, norm = (np.concatenate(each) for each in zip(*blocks, strict=True))
    return Block(*found_columns), total, norm


def _mcnemar(values: Floats, pairs: Integers) -> Floats:
    a, b = pairs[:, 0], pairs[:, 1]
    is_present = np.isfinite(values)
    passed = np.where(is_present, values, 0.0)
    only = (passed.T @ (is_present - passed)).round().astype(np.int64)
    return mcnemar_p(only[a, b], only[b, a])


def _sign_flip_p(
    values: Floats, groups: Groups, pairs: Integers, is_wanted: Booleans, threshold: float
) -> Floats:
    """Return p-values where they are wanted or may be below the threshold, otherwise 1."""
    p = np.ones(len(pairs))
    whole = sum_by_cluster(values, groups).sums if np.isfinite(values).all() else None
    step = max(1, _BLOCK // max(1, len(values)))
    for start in range(0, len(pairs), step):
        block = slice(start, start + step)
        if whole is not None:
            sums = subtract(whole, pairs[block])
        else:
            sums = sum_by_cluster(subtract(values, pairs[block]), groups).sums
        p[block] = screened_sign_flip_p(sums, is_wanted[block], threshold)
    return p
