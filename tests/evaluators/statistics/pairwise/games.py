"""Comparisons for tests: from matrices, and at random from known strengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.pairwise.win_matrix import Comparisons

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers


def games(wins: list[list[int]], ties: list[list[int]] | None = None) -> Comparisons:
    """The comparisons behind a matrix of wins, and of ties in its upper half."""
    rows = [
        (one, other, 1.0)
        for one, row in enumerate(wins)
        for other, n in enumerate(row)
        if one != other
        for _ in range(n)
    ]
    for one, row in enumerate(ties or []):
        rows += [(one, one + 1 + at, 0.5) for at, n in enumerate(row[one + 1 :]) for _ in range(n)]
    one, other, outcomes = zip(*rows, strict=True) if rows else ((), (), ())
    return Comparisons(
        np.array(one, dtype=np.int64), np.array(other, dtype=np.int64), np.array(outcomes, float)
    )


def chances(strengths: Floats, log_ties: float | None, one: Integers, other: Integers) -> Floats:
    """The probabilities of a win, a tie and a loss: shape (comparisons, 3)."""
    a, b = np.exp(strengths[one]), np.exp(strengths[other])
    tie = 0.0 if log_ties is None else np.exp(log_ties) * np.sqrt(a * b)
    return np.stack([a, np.broadcast_to(tie, a.shape), b], axis=1) / (a + b + tie)[:, None]


def play(
    strengths: Floats, log_ties: float | None, one: Integers, other: Integers, luck: Floats
) -> Comparisons:
    """Random outcomes of Davidson's model, by numbers from 0 to 1."""
    win, tie, _ = chances(strengths, log_ties, one, other).T
    outcomes = np.where(luck < win, 1.0, np.where(luck < win + tie, 0.5, 0.0))
    return Comparisons(one, other, outcomes)
