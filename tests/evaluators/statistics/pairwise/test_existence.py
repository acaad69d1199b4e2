"""Which systems have a strength: known cases, and a linear program as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from evaluators.statistics.pairwise import existence
from evaluators.statistics.pairwise.existence import find_comparable
from evaluators.statistics.pairwise.win_matrix import WinMatrix, count_wins
from tests.evaluators.statistics.pairwise.games import games


def found(
    wins: list[list[int]], ties: list[list[int]] | None = None
) -> tuple[list[int], list[str | None]]:
    systems, reasons = find_comparable(count_wins(games(wins, ties), len(wins)))
    return systems.tolist(), list(reasons)


def test_two_systems_that_both_won() -> None:
    assert found([[0, 3], [1, 0]]) == ([0, 1], [None, None])


def test_a_system_that_won_everything_has_no_strength() -> None:
    assert found([[0, 5], [0, 0]]) == ([], [existence.WON_ALL, existence.LOST_ALL])
    # The others keep theirs.
    wins = [[0, 4, 4], [0, 0, 2], [0, 1, 0]]
    assert found(wins) == ([1, 2], [existence.WON_ALL, None, None])


def test_a_system_that_lost_everything_has_no_strength() -> None:
    wins = [[0, 2, 4], [1, 0, 4], [0, 0, 0]]
    assert found(wins) == ([0, 1], [None, None, existence.LOST_ALL])


def test_a_system_without_comparisons_has_no_strength() -> None:
    wins = [[0, 2, 0], [1, 0, 0], [0, 0, 0]]
    assert found(wins) == ([0, 1], [None, None, existence.NOT_COMPARED])


def test_groups_that_are_not_connected() -> None:
    # Three systems beat each other in turn; two others play among themselves only.
    wins = np.zeros((5, 5), dtype=int)
    for one, other in [(0, 1), (1, 2), (2, 0), (3, 4), (4, 3)]:
        wins[one, other] = 1
    reason = existence.NOT_CONNECTED
    assert found(wins.tolist()) == ([0, 1, 2], [None, None, None, reason, reason])
    # Of two groups of the same size, neither is the one to compare with.
    assert found(wins[1:, 1:][[0, 1]][:, [0, 1]].tolist())[0] == []
    two = np.zeros((4, 4), dtype=int)
    for one, other in [(0, 1), (1, 0), (2, 3), (3, 2)]:
        two[one, other] = 2
    assert found(two.tolist()) == ([], [existence.NOT_CONNECTED] * 4)


def test_ties_connect_in_both_directions() -> None:
    wins = [[0, 2, 3], [1, 0, 0], [0, 0, 0]]
    ties = [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert found(wins)[0] == [0, 1]
    assert found(wins, ties)[0] == [0, 1, 2]


def test_ties_alone_say_nothing() -> None:
    ties = [[0, 9], [0, 0]]
    assert found([[0, 0], [0, 0]], ties) == ([], [existence.ALL_TIES] * 2)


def test_wins_in_one_direction_and_ties_have_no_maximum() -> None:
    # Nine wins, one tie: with growing strength and tie parameter the fit gets ever better.
    ties = [[0, 1], [0, 0]]
    assert found([[0, 9], [0, 0]], ties) == ([], [existence.TOO_MANY_TIES] * 2)
    assert found([[0, 9], [1, 0]], ties) == ([0, 1], [None, None])


def test_no_systems() -> None:
    systems, reasons = find_comparable(WinMatrix(np.zeros((0, 0)), np.zeros((0, 0))))
    assert (len(systems), reasons) == (0, ())


def has_maximum(matrix: WinMatrix) -> bool:
    """Whether no direction of strengths and tie parameter makes every result at least as likely.

    A result is as likely or more if no alternative result grows faster: for a win of a over b,
    d_a - d_b must be at least 0 and at least t; for a tie, t at least their distance. The linear
    program looks for such a direction in which some result gets more likely.
    """
    size = len(matrix.wins)
    has_ties = bool(matrix.ties.any())
    slacks = []
    for one, other in zip(*np.nonzero(matrix.wins), strict=True):
        ahead = np.zeros(size + 1)
        ahead[one], ahead[other] = 1, -1
        slacks.append(ahead.copy())
        if has_ties:
            ahead[-1] = -1
            slacks.append(ahead)
    for one, other in zip(*np.nonzero(np.triu(matrix.ties)), strict=True):
        for sign in (1, -1):
            near = np.zeros(size + 1)
            near[one], near[other], near[-1] = sign, -sign, 1
            slacks.append(near)
    if not slacks:
        return size <= 1
    rows = np.array(slacks)
    result = linprog(-rows.sum(axis=0), -rows, np.zeros(len(rows)), bounds=[(-1, 1)] * (size + 1))
    connected = np.linalg.matrix_rank(rows[:, :size]) == size - 1
    return bool(result.fun > -1e-9 and connected)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("tie_share", [0.0, 0.3, 0.8])
def test_agrees_with_a_linear_program(size: int, tie_share: float) -> None:
    generator = np.random.default_rng([size, int(10 * tie_share)])
    decisions = set()
    for _ in range(60):
        results = generator.integers(1, 3 * size)
        wins, ties = np.zeros((2, size, size))
        for _ in range(results):
            one, other = generator.choice(size, 2, replace=False)
            if generator.random() < tie_share:
                ties[one, other] += 1
                ties[other, one] += 1
            else:
                wins[one, other] += 1
        matrix = WinMatrix(wins, ties)
        is_complete = len(find_comparable(matrix).systems) == size
        assert is_complete == has_maximum(matrix), matrix
        decisions.add(is_complete)
    assert decisions == {True, False}
