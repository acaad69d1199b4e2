"""Rank sets: the ranks of all systems that the comparisons do not exclude."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.comparisons import BETTER, WORSE

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Integers
    from evaluators.statistics.comparisons import Comparisons


class RankSets(NamedTuple):
    """The best and the worst rank of each system, 1 being the best; 0 for systems left out."""

    low: Integers
    high: Integers


def rank_sets(compared: Comparisons, is_ranked: Booleans) -> RankSets:
    """Return the ranks that the comparisons allow, for all systems at once.

    A system ranks below those that are significantly better, and above those that are significantly
    worse. Holm's adjustment makes all these verdicts right together with 95 % probability, and then
    all true ranks lie within the sets.

    Args:
        compared: The comparisons of all pairs of systems.
        is_ranked: Shape (systems,): the systems to rank; the others are left out.

    Source: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility
    across neighbourhoods and academic achievement across countries", 2024.
    """
    both = is_ranked[compared.pairs].all(axis=1)
    first, second = compared.pairs[both].T
    verdicts = np.array(compared.verdict, dtype=np.str_)[both]
    systems = len(is_ranked)
    better = np.r_[second[verdicts == BETTER], first[verdicts == WORSE]]
    worse = np.r_[first[verdicts == BETTER], second[verdicts == WORSE]]
    low = 1 + np.bincount(better, minlength=systems)
    high = np.count_nonzero(is_ranked) - np.bincount(worse, minlength=systems)
    return RankSets(np.where(is_ranked, low, 0), np.where(is_ranked, high, 0))
