"""Ranks, and the places that a system may hold if other questions had been asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE

if TYPE_CHECKING:
    from typing import Literal

    from evaluators.statistics.arrays import Floats, Integers

_DIGITS = 12


class RankInterval(NamedTuple):
    """The best and the worst place of each system, 1 being the best; 0 without a mean."""

    low: Integers
    high: Integers


def rank_intervals(means: Floats, draws: Floats, best: Literal["high", "low"]) -> RankInterval:
    """The places that systems hold in the middle 95 % of the draws.

    One draw resamples the questions of all systems at once, so that what they have in common does
    not count as uncertainty. The place by the means themselves always lies within.

    Args:
        means: Shape (systems,); NaN for a system that has none: it takes no part.
        draws: Shape (draws, systems), as `resampled_means` gives them.
        best: Which numbers are better.

    Source: the rank intervals of Chatbot Arena, arXiv 2403.04132.
    """
    low, high = np.zeros((2, len(means)), dtype=np.int64)
    there = np.isfinite(means)
    if not there.any():
        return RankInterval(low, high)
    sign = -1.0 if best == "high" else 1.0
    places = ranks(sign * draws[:, there])
    tail = (1 - CONFIDENCE) / 2
    held = np.quantile(places, [tail, 1 - tail], axis=0, method="inverted_cdf").astype(np.int64)
    own = ranks(sign * means[None, there])[0]
    low[there], high[there] = np.minimum(held[0], own), np.maximum(held[1], own)
    return RankInterval(low, high)


def ranks(numbers: Floats) -> Integers:
    """The rank of each number in its row, 1 for the least; equal ones share the lowest.

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
