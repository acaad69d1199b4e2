"""Option letters: sums over two spellings, bounds of what is not listed, and rotations."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from systems.client import WrongShape
from systems.tasks.option_letters import (
    OptionProbabilities,
    logarithms,
    mean_of_orders,
    read_letters,
    rotate_back,
)


def listed(**probabilities: float) -> list[tuple[str, float]]:
    """Tokens with their logarithms; an underscore stands for a space before the letter."""
    return [
        (token.replace("_", " "), math.log(probability))
        for token, probability in probabilities.items()
    ]


def test_a_letter_is_the_sum_over_its_two_tokens() -> None:
    tokens = listed(A=0.5, _A=0.2, _B=0.1, b=0.05, C=0.03, D=0.02, The=0.01)
    found = read_letters([*tokens, ("(A", -9.0), ("A.", -9.0), ("  A", -9.0)], 4)
    assert found.values == pytest.approx((0.7, 0.1, 0.03, 0.02))
    assert found.bounded == (False,) * 4


def test_a_missing_letter_has_the_probability_of_the_least_listed_token() -> None:
    found = read_letters(listed(A=0.5, The=0.1, _B=0.2), 3)
    assert found.values == pytest.approx((0.5, 0.2, 0.1))
    assert found.bounded == (False, False, True)


def test_a_missing_letter_has_at_most_what_the_listed_tokens_leave() -> None:
    found = read_letters(listed(_A=0.6, B=0.37), 3)
    assert found.values == pytest.approx((0.6, 0.37, 0.03))
    assert found.bounded == (False, False, True)


def test_nothing_is_left_for_a_missing_letter() -> None:
    # Rounded as servers round: the sum is 1.0000001.
    found = read_letters([("A", math.log(0.6000001)), ("B", math.log(0.4))], 3)
    assert found.values[2] == 0.0
    assert found.bounded[2]
    assert logarithms(found.values)[2] is None


def test_the_order_of_the_list_does_not_matter() -> None:
    tokens = listed(A=0.5, The=0.1, _B=0.2, B=0.01)
    assert read_letters(tokens, 3) == read_letters(tokens[::-1], 3)


@pytest.mark.parametrize(
    ("tokens", "named"),
    [
        ([], "`top_logprobs`"),
        ([("A", math.log(0.8)), ("B", math.log(0.4))], "found 2 tokens with the sum 1.2"),
        ([("A", 800.0)], "at most 1"),
        ([("A", math.nan)], "at most 1"),
    ],
)
def test_what_is_no_part_of_a_distribution(tokens: list[tuple[str, float]], named: str) -> None:
    with pytest.raises(WrongShape, match=named):
        read_letters(tokens, 2)


@given(
    weights=st.lists(st.floats(0.001, 1), min_size=8, max_size=12),
    keep=st.integers(1, 12),
)
def test_bounds_are_never_below_the_truth(weights: list[float], keep: int) -> None:
    """A server that lists its top k of a known distribution."""
    total = sum(weights)
    tokens = ["A", "B", "C", "D", *(f"word {at}" for at in range(len(weights) - 4))]
    distribution = {token: weight / total for token, weight in zip(tokens, weights, strict=True)}
    ranked = sorted(distribution, key=lambda token: -distribution[token])
    top = [(token, math.log(distribution[token])) for token in ranked[:keep]]
    found = read_letters(top, 4)
    for letter, value, bounded in zip("ABCD", found.values, found.bounded, strict=True):
        if bounded:
            assert letter not in ranked[:keep]
            assert value >= distribution[letter] - 1e-12
        else:
            assert value == pytest.approx(distribution[letter])


def test_rotating_back() -> None:
    # Options a, b, c, shown from the second on: A is b, B is c, C is a.
    shown = OptionProbabilities((0.6, 0.3, 0.1), (False, False, True))
    assert rotate_back(shown, 1) == OptionProbabilities((0.1, 0.6, 0.3), (True, False, False))
    assert rotate_back(shown, 0) == shown


def test_the_mean_of_several_orders() -> None:
    orders = [
        OptionProbabilities((0.6, 0.2), (False, False)),
        OptionProbabilities((0.2, 0.4), (False, True)),
    ]
    mean = mean_of_orders(orders)
    assert mean.values == pytest.approx((0.4, 0.3))
    assert mean.bounded == (False, True)
