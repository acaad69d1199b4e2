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
    worse. Holm's adjustment makes all these verdicts right together with 95 % probability, and then
    all true ranks lie within the sets.

    Args:
        compared: The outcomes of all pairs of systems.
        is_ranked: Shape (systems,): the systems to rank; the others are left out.
        families: The number of groups of systems, one after the other, that are ranked separately.

    Source: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility
    across neighbourhoods and academic achievement across countries", 2024.
    """
    both = is_ranked[compared.pairs].all(axis=1)
    first, second = compared.pairs[both].T
    signs = compared.signs[both]
    systems = len(is_ranked)
    better = np.r_[second[signs > 0], first[signs < 0]]
    worse = np.r_[first[signs > 0], second[signs < 0]]
    low = 1 + np.bincount(better, minlength=systems)
    ranked = np.count_nonzero(is_ranked.reshape(families, -1), axis=1)
    high = ranked.repeat(systems // families) - np.bincount(worse, minlength=systems)
    return RankSets(np.where(is_ranked, low, 0), np.where(is_ranked, high, 0))
