"""Ranks and their bootstrap intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE

if TYPE_CHECKING:
    from typing import Literal

    from evaluators.statistics.arrays import Floats, Integers

_DIGITS = 12


class RankInterval(NamedTuple):
    """The best and the worst rank of each system, 1 being the best; 0 without a mean."""

    low: Integers
    high: Integers


def rank_intervals(means: Floats, draws: Floats, best: Literal["high", "low"]) -> RankInterval:
    """Return the range of ranks of each system in the middle 95 % of the draws.

    One draw resamples the questions of all systems at once, so differences that they share do not
    count as uncertainty. The rank by the means always lies within the interval.

    Args:
        means: Shape (systems,); NaN for a system without a mean, which is left out.
        draws: Shape (draws, systems), as `resampled_means` gives them.
        best: Whether high or low numbers are better.

    Source: the rank intervals of Chatbot Arena, arXiv 2403.04132.
    """
    low, high = np.zeros((2, len(means)), dtype=np.int64)
    has_mean = np.isfinite(means)
    if not has_mean.any():
        return RankInterval(low, high)
    sign = -1.0 if best == "high" else 1.0
    drawn_ranks = ranks(sign * draws[:, has_mean])
    tail = (1 - CONFIDENCE) / 2
    bounds = np.quantile(drawn_ranks, [tail, 1 - tail], axis=0, method="inverted_cdf").astype(
        np.int64
    )
    observed = ranks(sign * means[None, has_mean])[0]
    low[has_mean], high[has_mean] = np.minimum(bounds[0], observed), np.maximum(bounds[1], observed)
    return RankInterval(low, high)


def ranks(numbers: Floats) -> Integers:
    """Return the rank of each number in its row, 1 for the smallest; equal numbers share a rank.

    Numbers that differ only by rounding (in the 12th digit) are equal. NaN comes last.
    """
    largest = np.nanmax(np.abs(numbers), initial=0.0) or 1.0
    rounded = np.round(numbers / largest, _DIGITS)
    order = np.argsort(rounded, axis=1, kind="stable")
    ordered = np.take_along_axis(rounded, order, axis=1)
    first = np.ones(ordered.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    positions = np.arange(1, ordered.shape[1] + 1)
    shared = np.maximum.accumulate(np.where(first, positions, 0), axis=1)
    found = np.empty_like(shared)
    np.put_along_axis(found, order, shared, axis=1)
    return found
