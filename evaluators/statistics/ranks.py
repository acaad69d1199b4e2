"""Rank sets: the ranks of all systems that the comparisons do not exclude."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Integers
    from evaluators.statistics.comparisons import Outcomes


class RankSets(NamedTuple):
    """The best and the worst rank of each system, 1 being the best; 0 for systems left out."""

    low: Integers
    high: Integers


def rank_sets(compared: Outcomes, is_ranked: Booleans, families: int = 1) -> RankSets:
    """Return the ranks that the comparisons allow, for all systems at once.

    A system ranks below those that are significantly better, and above those that are significantly
    worse. So do systems that a chain of such verdicts connects, so that the sets do not contradict
    each other. Verdicts that form a circle (each pair was asked other questions) are left out.
    Holm's adjustment makes all verdicts right together with 95 % probability, and then all true
    ranks lie within the sets.

    Args:
        compared: The outcomes of all pairs of systems.
        is_ranked: Shape (systems,): the systems to rank; the others are left out.
        families: The number of groups of systems, one after the other, that are ranked separately.

    Source: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility
    across neighbourhoods and academic achievement across countries", 2024.
    """
    is_above = _connect(_find_above(compared, is_ranked, families))
    ranked = is_ranked.reshape(families, -1)
    low = 1 + is_above.sum(axis=1)
    high = ranked.sum(axis=1, keepdims=True) - is_above.sum(axis=2)
    return RankSets(*(np.where(ranked, each, 0).ravel() for each in (low, high)))


def _find_above(compared: Outcomes, is_ranked: Booleans, families: int) -> Booleans:
    """Return which systems are significantly better than others: shape (families, n, n)."""
    systems = len(is_ranked) // families
    both = is_ranked[compared.pairs].all(axis=1) & (compared.signs != 0)
    first, second = compared.pairs[both].T
    is_first = compared.signs[both] > 0
    better, worse = np.where(is_first, first, second), np.where(is_first, second, first)
    is_above = np.zeros((families, systems, systems), dtype=np.bool_)
    size = max(1, systems)
    is_above[better // size, better % size, worse % size] = True
    return is_above


def _connect(is_above: Booleans) -> Booleans:
    """Return which systems are above others by a chain of verdicts: shape (families, n, n)."""
    while True:
        paths = is_above.astype(np.float32)
        connected = is_above | (paths @ paths > 0)
        if (connected == is_above).all():
            break
        is_above = connected
    found: Booleans = is_above & ~is_above.swapaxes(1, 2)
    return found
