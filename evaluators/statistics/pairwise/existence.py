"""Which systems have a finite Bradley-Terry strength, and why others have none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers
    from evaluators.statistics.pairwise.win_matrix import WinMatrix

NOT_COMPARED = "it was compared with no other system"
WON_ALL = "it won every comparison, so its strength has no upper limit"
LOST_ALL = "it lost every comparison, so its strength has no lower limit"
NOT_CONNECTED = "wins and ties do not connect it with the other systems in both directions"
ALL_TIES = "every comparison is a tie"
TOO_MANY_TIES = "no cycle of comparisons has more wins than ties, so strengths have no limit"


class Comparable(NamedTuple):
    """The systems whose strengths can be estimated together.

    Attributes:
        systems: Their positions; empty if there are none.
        reasons: For each system, why it has no strength; None where it has one.
    """

    systems: Integers
    reasons: tuple[str | None, ...]


def find_comparable(matrix: WinMatrix) -> Comparable:
    """Return the systems for which the likelihood has a maximum at finite strengths.

    A chain of wins and ties must lead from each of them to each other one. These are the largest
    such group; the strengths of other groups are infinitely higher or lower, or unrelated. If no
    group is the largest, no system has a strength. Within the group, there must be a cycle of
    comparisons with more wins than ties if there are ties: only then Davidson's tie parameter is
    finite.

    Source: Ford 1957 for wins; the condition with ties follows from the directions in which the
    likelihood of a multinomial logit model does not decrease (Albert and Anderson 1984).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    reachable = csr_array(matrix.wins + matrix.ties > 0)
    count, groups = connected_components(reachable, directed=True, connection="strong")
    sizes = np.bincount(groups, minlength=count)
    largest = np.flatnonzero(sizes == sizes.max(initial=0))
    nothing = np.empty(0, dtype=np.int64)
    if len(largest) != 1 or sizes[largest[0]] == 1:
        return Comparable(nothing, tuple(_reasons(matrix)))
    systems = np.flatnonzero(groups == largest[0])
    unbounded = _ties_reason(matrix.subset(systems))
    inside = set(systems.tolist())
    reasons = tuple(
        unbounded if system in inside else reason for system, reason in enumerate(_reasons(matrix))
    )
    return Comparable(nothing if unbounded else systems.astype(np.int64), reasons)


def connects(counts: Floats) -> bool:
    """Return whether comparisons connect all systems.

    Args:
        counts: Shape (systems, systems): how often two systems were compared.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    return bool(connected_components(csr_array(counts > 0), directed=False)[0] <= 1)


def _reasons(matrix: WinMatrix) -> list[str]:
    """Return why each system has no strength, if it has none."""
    won, lost, tied = matrix.wins.sum(axis=1), matrix.wins.sum(axis=0), matrix.ties.sum(axis=1)
    conditions = [won + lost + tied == 0, lost + tied == 0, won + tied == 0]
    found = np.select(conditions, [NOT_COMPARED, WON_ALL, LOST_ALL], NOT_CONNECTED)
    return [str(reason) for reason in found]


def _ties_reason(matrix: WinMatrix) -> str | None:
    """Return why Davidson's tie parameter is infinite; None if it is finite."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import NegativeCycleError, bellman_ford

    if not matrix.ties.any():
        return None
    if not matrix.wins.any():
        return ALL_TIES
    # Strengths that differ by 1 or more for wins, by 1 or less for ties, fit without limit.
    differences = np.where(matrix.ties > 0, 1.0, 0.0)
    differences[matrix.wins > 0] = -1.0
    try:
        bellman_ford(csr_array(differences), indices=0)
    except NegativeCycleError:
        return None
    return TOO_MANY_TIES
