"""Verdicts in both orders: outcomes, and the preference for a position."""

from __future__ import annotations

import pytest

from evaluators.statistics.pairwise.verdicts import (
    Vote,
    is_changed,
    majority_vote,
    order_bias,
    outcome_of,
)


@pytest.mark.parametrize(
    ("shown_first", "shown_second", "outcome", "changed"),
    [
        (1, -1, 1.0, False),  # the own answer wins in both orders
        (-1, 1, 0.0, False),  # it loses in both
        (0, 0, 0.5, False),  # a tie in both
        (1, 1, 0.5, True),  # the first answer wins, whichever it is
        (-1, -1, 0.5, True),  # the second one does
        (1, 0, 0.5, True),
        (0, -1, 0.5, True),
        (-1, 0, 0.5, True),
        (0, 1, 0.5, True),
    ],
)
def test_outcome(shown_first: Vote, shown_second: Vote, outcome: float, changed: bool) -> None:
    assert outcome_of(shown_first, shown_second) == outcome
    assert is_changed(shown_first, shown_second) is changed
    # For the other system, the orders swap their roles, and so do wins and losses.
    assert outcome_of(shown_second, shown_first) == 1 - outcome


@pytest.mark.parametrize(
    ("votes", "middle"),
    [
        ([1], 1),
        ([1, 1, -1], 1),
        ([0, -1, -1], -1),
        ([1, 0, -1], 0),
        ([1, -1], 0),
        ([1, 0], 0),
        ([-1, 0, 0], 0),
    ],
)
def test_majority(votes: list[Vote], middle: Vote) -> None:
    assert majority_vote(votes) == middle


def test_order_bias() -> None:
    # Two consistent verdicts, one for the first answer in both orders, one for it in one order.
    found = order_bias([(1, -1), (0, 0), (1, 1), (1, 0)])
    assert (found.n, found.changed) == (4, 0.5)
    # Of eight verdicts, four prefer the first answer and one the second.
    assert found.first == pytest.approx((4 - 1) / 8)


def test_order_bias_of_judges_that_only_look_at_the_position() -> None:
    assert order_bias([(1, 1)] * 7) == (7, 1.0, 1.0)
    assert order_bias([(-1, -1)] * 7) == (7, 1.0, -1.0)
    # Preferences for both positions cancel out; the changed verdicts show them.
    assert order_bias([(1, 1), (-1, -1)]) == (2, 1.0, 0.0)


def test_no_comparisons_have_no_order_bias() -> None:
    assert order_bias([]) == (0, None, None)
