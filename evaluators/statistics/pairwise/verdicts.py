"""Verdicts of a judge that sees two answers in both orders, and its preference for a position."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

Vote: TypeAlias = Literal[1, 0, -1]
"""A verdict on two answers in the order shown: 1 for the first, -1 for the second, 0 for a tie."""

WIN, TIE, LOSS = 1.0, 0.5, 0.0
"""The outcomes of a comparison for one of its two systems."""


class OrderBias(NamedTuple):
    """How much the order of the answers decides.

    Attributes:
        n: The number of comparisons.
        changed: The share of comparisons whose verdict changes with the order; None without any.
        first: How many more verdicts prefer the answer shown first than the one shown second, as a
            share of all verdicts: 0 for a judge without preference for a position, 1 or -1 for one
            that always prefers the first or the second. None without comparisons.
    """

    n: int
    changed: float | None
    first: float | None


def outcome_of(shown_first: Vote, shown_second: Vote) -> float:
    """Return the outcome of a comparison that was judged in both orders.

    A verdict that changes with the order is a tie: it says more about the judge than about the
    answers.

    Args:
        shown_first: The verdict where the own answer is shown first.
        shown_second: The verdict where it is shown second.

    Returns:
        1 if the own answer wins in both orders, 0 if it loses in both, otherwise 0.5.

    Source: Zheng and others, "Judging LLM-as-a-judge with MT-bench and Chatbot Arena",
    arXiv 2306.05685, section 3.4.
    """
    return TIE if is_changed(shown_first, shown_second) else (1 + shown_first) / 2


def majority_vote(votes: Sequence[Vote]) -> Vote:
    """Return the middle one of several verdicts in one order; a tie if there is none."""
    middle = median(votes)
    return 1 if middle == 1 else -1 if middle == -1 else 0


def is_changed(shown_first: Vote, shown_second: Vote) -> bool:
    """Return whether the verdict on the same answers changes with their order."""
    return shown_first != -shown_second


def order_bias(votes: Sequence[tuple[Vote, Vote]]) -> OrderBias:
    """Measure the position bias of a judge.

    Args:
        votes: For each comparison, the verdicts in both orders, as for `outcome_of`.
    """
    n = len(votes)
    if not n:
        return OrderBias(0, None, None)
    changed = sum(is_changed(*both) for both in votes)
    # A verdict for the same answer in both orders adds 1 and -1.
    return OrderBias(n, changed / n, sum(one + other for one, other in votes) / (2 * n))
