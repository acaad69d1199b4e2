"""The sign-flip test against scipy and exact counts: one large difference, ties, many pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from evaluators.statistics import permutation_test
from evaluators.statistics.clusters import subtract
from evaluators.statistics.comparisons import every_pair
from evaluators.statistics.permutation_test import FLIPS, least_p, sign_flip_p


def exact_p(weights: np.ndarray, observed: int) -> float:
    """The exact p-value for whole numbers, by convolution."""
    total = int(weights.sum())
    chance = np.zeros(2 * total + 1)
    chance[total] = 1.0
    for weight in weights:
        chance = (np.roll(chance, weight) + np.roll(chance, -weight)) / 2
    reached = np.abs(np.arange(-total, total + 1)) >= abs(observed)
    return float(chance[reached].sum())


@pytest.mark.parametrize("gains", [13, 16, 20])
def test_one_large_gain_does_not_hide_the_others(gains: int) -> None:
    differences = np.zeros((60, 1))
    differences[:gains] = 0.09
    differences[0] = 0.9
    assert sign_flip_p(differences)[0] == 2 * 0.5**gains


@pytest.mark.parametrize("gains", [21, 25, 40])
def test_one_large_gain_among_many_is_tested_by_draws(gains: int) -> None:
    differences = np.zeros((60, 1))
    differences[:gains] = 0.09
    differences[0] = 0.9
    assert sign_flip_p(differences)[0] == pytest.approx(1 / (1 + FLIPS))
    lost = np.where(np.arange(60) % 3 == 0, -differences[:, 0], differences[:, 0])[:, None]
    expected = exact_p(np.r_[10, np.ones(gains - 1, dtype=int)], round(lost.sum() / 0.09))
    assert sign_flip_p(lost)[0] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("clusters", [3, 8, 13, 16])
@pytest.mark.parametrize("digits", [0, 1, 5])
def test_few_clusters_are_tested_exactly(clusters: int, digits: int) -> None:
    differences = np.random.default_rng(clusters).normal(0.5, 1, size=clusters).round(digits)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(differences[:, None])[0] == pytest.approx(expected.pvalue)


@given(arrays.arrays(int, st.integers(1, 9), elements=st.integers(-3, 3)))
def test_all_patterns_are_counted(differences: np.ndarray) -> None:
    sums = [
        sum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    expected = np.mean([abs(each) >= abs(differences.sum()) for each in sums])
    assert sign_flip_p(differences[:, None] / 10)[0] == pytest.approx(expected)


@pytest.mark.parametrize("shift", [0, 300, 3000])
def test_patterns_of_twenty_differences_are_counted(shift: int) -> None:
    draw = np.random.default_rng(shift)
    # Some are larger than all others together.
    weights = (draw.lognormal(5, 2, size=(20, 50)) * draw.choice([-1, 1], size=(20, 50))).round()
    weights[:, ::2] = draw.integers(-9, 9, size=(20, 25))
    weights += shift
    whole = np.abs(weights).astype(int).T
    expected = [exact_p(each, int(abs(s))) for each, s in zip(whole, weights.sum(0), strict=True)]
    np.testing.assert_allclose(sign_flip_p(weights), expected, rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5])
def test_many_clusters_are_tested_as_by_scipy(shift: float) -> None:
    differences = np.random.default_rng(11).normal(shift, 1, size=40).round(1)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=20_000, rng=12
    ).pvalue
    ours = sign_flip_p(differences[:, None])[0]
    assert ours == pytest.approx(expected, abs=3 * np.sqrt(expected * (1 - expected) / 1e4) + 1e-3)


def test_zeros_and_rounding_errors_are_left_out() -> None:
    gains = np.full(12, 0.1)
    values = np.zeros((500, 2))
    values[:, 1] = np.random.default_rng(2).random(500)
    values[:, 0] = values[:, 1] * (1 + 1e-16)
    values[:12, 0] = values[:12, 1] + gains
    assert sign_flip_p(subtract(values, every_pair(2)))[0] == 2 * 0.5**12
    assert sign_flip_p(values, every_pair(2))[0] == 2 * 0.5**12
    assert sign_flip_p(np.zeros((500, 1)))[0] == 1
    assert sign_flip_p(np.zeros((0, 2))).tolist() == [1, 1]


@given(arrays.arrays(int, st.integers(21, 60), elements=st.integers(0, 4)))
def test_no_p_value_is_far_below_the_exact_one(weights: np.ndarray) -> None:
    p = sign_flip_p(weights[:, None].astype(float))[0]
    exact = exact_p(weights, weights.sum())
    assert p >= 0.999 * exact
    assert p <= 1.001 * max(exact, 1 / (1 + FLIPS), 0.5 ** (np.count_nonzero(weights) - 1))


@pytest.mark.parametrize("share", [0.505, 0.51, 0.52, 0.53])
def test_many_small_differences_are_tested_by_the_normal_distribution(share: float) -> None:
    weights = np.where(np.arange(8000) < 3000, 2, 1)
    signs = np.where(np.arange(8000) * 7 % 8000 < share * 8000, 1, -1)
    expected = exact_p(weights, int(weights @ signs))
    p = sign_flip_p((weights * signs)[:, None].astype(float))[0]
    assert 0.999 * expected <= p <= 1.16 * expected


def test_one_large_difference_among_thousands_is_not_normal() -> None:
    differences = np.r_[100.0, np.tile([0.02, -0.02], 2500)][:, None]
    # The large difference alone has one of two signs.
    assert sign_flip_p(differences)[0] == pytest.approx(0.5, abs=0.02)


def test_holm_gets_more_draws_for_more_pairs() -> None:
    weights = np.r_[20, np.ones(26, dtype=int)]
    signs = np.where(np.arange(27) < 24, 1, -1)
    expected = exact_p(weights, int(weights @ signs))
    differences = (weights * signs)[:, None].astype(float)
    assert expected < 1e-4
    assert sign_flip_p(differences)[0] <= 3 / (1 + FLIPS)
    assert sign_flip_p(differences, tests=4950)[0] == pytest.approx(expected, rel=0.3)


def test_pairs_of_columns_are_tested_like_their_differences() -> None:
    values = np.random.default_rng(13).random((30, 4))
    pairs = every_pair(4)
    by_pair = sign_flip_p(values, pairs)
    by_difference = sign_flip_p(values[:, pairs[:, 0]] - values[:, pairs[:, 1]])
    assert by_pair == pytest.approx(by_difference, abs=1e-12)


def test_draws_do_not_depend_on_other_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(14).random((30, 9))
    alone = sign_flip_p(values[:, :2], every_pair(2))
    assert sign_flip_p(values, every_pair(9))[0] == alone[0]
    monkeypatch.setattr(permutation_test, "_CHUNK", 1000)
    assert sign_flip_p(values[:, :2], every_pair(2)) == alone


def test_p_values_of_equal_systems_are_uniform() -> None:
    generator = np.random.default_rng(18)
    level = generator.random((80, 1))
    values = level + generator.exponential(size=(80, 600))
    p = sign_flip_p(values[:, ::2] - values[:, 1::2])
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_the_least_p_value_is_that_of_one_pattern_and_its_mirror_image() -> None:
    assert least_p(np.array([1, 6, 30])).tolist() == [1, 2 / 64, 2.0**-29]
