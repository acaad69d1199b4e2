"""Anytime-valid tests: the capital, the confidence sequence, and errors over many looks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evaluators.statistics.mean_bounds import mean_above_p
from evaluators.statistics.sequential_test import BETS, SequentialTest
from tests.support.services import takes_minutes

LEVEL = 0.05


def at_look(values: np.ndarray, first: int | None = None, epoch: int = 1) -> SequentialTest:
    """Return the tests of single questions."""
    n = len(values)
    return SequentialTest(sums=values, counts=np.ones(n), reach=1.0, first=first or n, epoch=epoch)


def test_the_capital_is_the_mean_over_bets() -> None:
    generator = np.random.default_rng(1)
    sizes = generator.integers(1, 5, 30).astype(float)
    sums = generator.uniform(-0.2, 1, 30) * sizes
    test = SequentialTest(sums=sums, counts=sizes, reach=1.0, first=3, largest=4, epoch=2)
    capitals = []
    for bet in BETS:
        capital = 1.0
        for total, size in zip(sums, sizes, strict=True):
            capital *= 1 + bet * (total - (-0.02) * size) / (0.98 * 4)
        capitals.append(capital)
    # The second epoch has a sixth of the level, and the capital half of that.
    assert test.betting_above_p(-0.02) == pytest.approx(12 / np.mean(capitals))
    first = mean_above_p(sums[:3], sizes[:3], 1.0, -0.02)
    assert test.first_above_p(-0.02) == pytest.approx(min(1.0, 12 * first))
    assert test.above_p(-0.02) == min(test.betting_above_p(-0.02), test.first_above_p(-0.02))


def test_the_order_within_a_look_does_not_matter() -> None:
    values = np.random.default_rng(2).uniform(-1, 1, 50)
    assert at_look(values).above_p(-0.1) == pytest.approx(
        at_look(values[::-1].copy()).above_p(-0.1)
    )


def test_no_bet_can_lose_more_than_everything() -> None:
    lost = at_look(-np.ones(1000))
    assert lost.above_p(-0.02) == 1.0
    assert lost.below_p(-0.02) < 1e-200


def test_bounds_invert_the_test() -> None:
    test = at_look(np.random.default_rng(4).uniform(-0.6, 1, 80), first=30, epoch=3)
    low, high = test.bounds(LEVEL)
    assert test.above_p(low) == pytest.approx(LEVEL, abs=1e-6)
    assert test.below_p(high) == pytest.approx(LEVEL, abs=1e-6)
    assert -1 < low < high < 1


def test_bounds_exist_for_a_single_question() -> None:
    for value in (-1.0, 0.0, 1.0):
        low, high = at_look(np.array([value])).bounds(LEVEL)
        assert -1 <= low <= value <= high <= 1


def test_all_epochs_together_have_one_level() -> None:
    values = np.zeros(5)
    shares = [at_look(values, epoch=epoch).share for epoch in range(1, 10_000)]
    assert math.fsum(shares) == pytest.approx(0.5, abs=1e-4)


@takes_minutes
@pytest.mark.parametrize("is_answered_again", [False, True])
def test_false_alarms_over_many_looks(*, is_answered_again: bool) -> None:
    """A test at 5 % at every one of 40 looks gives alarms in about a quarter of the trials."""
    generator = np.random.default_rng(7)
    alarms = naive = 0
    for _ in range(60):
        baseline = generator.random(400) < 0.7
        values = (generator.random(400) < 0.7).astype(float) - baseline
        alarmed = naively = False
        for look in range(1, 41):
            if is_answered_again:
                values = (generator.random(400) < 0.7).astype(float) - baseline
                test = at_look(values[:100], epoch=look)
            else:
                test = at_look(values[: 10 * look], first=10)
            alarmed |= test.below_p(0.0) <= LEVEL
            seen = test.sums
            naively |= bool(seen.mean() < -1.645 * seen.std() / np.sqrt(len(seen)))
        alarms, naive = alarms + alarmed, naive + naively
    assert alarms / 60 <= 0.08
    assert naive / 60 > 0.15


def test_a_real_loss_is_found() -> None:
    generator = np.random.default_rng(9)
    found = 0
    for _ in range(100):
        drawn = generator.random(200)
        values = (drawn < 0.05).astype(float) - (drawn > 0.80)
        found += at_look(values).below_p(-0.02) <= LEVEL
    assert found > 80
