"""Win matrices: how often each system beat and tied each other system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.pairwise.verdicts import TIE

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers


class Comparisons(NamedTuple):
    """Comparisons of two systems each, as arrays of shape (comparisons,).

    Attributes:
        one: The position of one system.
        other: The position of the other, different system.
        outcomes: 1 if the one wins, 0.5 for a tie, 0 if the other wins.
    """

    one: Integers
    other: Integers
    outcomes: Floats

    def subset(self, chosen: Booleans | Integers) -> Comparisons:
        """Return some of the comparisons."""
        return Comparisons(self.one[chosen], self.other[chosen], self.outcomes[chosen])


@dataclass(frozen=True, slots=True)
class WinMatrix:
    """Wins and ties of all pairs of systems.

    Attributes:
        wins: Shape (systems, systems): how often the system of the row beat that of the column.
        ties: The same shape, symmetric: how often the two tied.
    """

    wins: Floats
    ties: Floats

    @property
    def counts(self) -> Floats:
        """How often two systems were compared; symmetric."""
        counts: Floats = self.wins + self.wins.T + self.ties
        return counts

    def subset(self, systems: Integers) -> WinMatrix:
        """Return the matrix of some of the systems."""
        block = np.ix_(systems, systems)
        return WinMatrix(self.wins[block], self.ties[block])


def count_wins(comparisons: Comparisons, systems: int) -> WinMatrix:
    """Count the wins and ties of comparisons.

    Args:
        comparisons: The comparisons.
        systems: The number of systems.
    """
    one, other, outcomes = comparisons
    wins, ties = np.zeros((2, systems, systems))
    np.add.at(wins, (one, other), (outcomes > TIE).astype(np.float64))
    np.add.at(wins, (other, one), (outcomes < TIE).astype(np.float64))
    np.add.at(ties, (one, other), (outcomes == TIE).astype(np.float64))
    return WinMatrix(wins, ties + ties.T)
