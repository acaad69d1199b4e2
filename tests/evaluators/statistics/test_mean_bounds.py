"""Bounds of means that hold for any number of clusters, checked against exact methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.mean_bounds import (
    exact_interval,
    mean_above_p,
    mean_bounds,
    misses_p,
)

LEVEL = 0.05


@pytest.mark.parametrize(
    ("passed", "n"), [(0, 1), (1, 1), (0, 6), (1, 6), (3, 6), (50, 50), (7, 400)]
)
def test_passes_and_failures_have_the_bounds_of_clopper_and_pearson(passed: int, n: int) -> None:
    outcomes = np.r_[np.ones(passed), -np.ones(n - passed)]
    low, high = mean_bounds(outcomes, np.ones(n), 1.0, LEVEL)
    exact_low = stats.beta.ppf(LEVEL, passed, n - passed + 1) if passed else 0.0
    exact_high = stats.beta.ppf(1 - LEVEL, passed + 1, n - passed) if passed < n else 1.0
    assert (low, high) == pytest.approx((2 * exact_low - 1, 2 * exact_high - 1), abs=1e-6)


@pytest.mark.parametrize("n", [1, 6, 150, 20_000])
def test_equal_results_have_the_rule_of_three(n: int) -> None:
    low, high = mean_bounds(np.zeros(n), np.ones(n), 1.0, LEVEL)
    assert high == pytest.approx(1 - LEVEL ** (1 / n))
    assert low == pytest.approx(-high, rel=1e-9)


def test_six_identical_results_do_not_rule_out_a_loss_of_39_percent() -> None:
    assert mean_bounds(np.zeros(6), np.ones(6), 1.0, LEVEL)[0] == pytest.approx(-0.393, abs=5e-4)


@pytest.mark.parametrize(
    ("lost", "gained", "n"), [(6, 0, 6), (5, 0, 60), (12, 3, 400), (200, 10, 900)]
)
def test_no_difference_is_tested_as_mcnemar_does(lost: int, gained: int, n: int) -> None:
    gains = np.r_[-np.ones(lost), np.ones(gained), np.zeros(n - lost - gained)]
    exact = stats.binomtest(lost, lost + gained, alternative="greater").pvalue
    assert mean_above_p(-gains, np.ones(n), 1.0, 0.0) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("n", [1, 3, 10, 40])
def test_p_is_the_probability_under_dirichlet_weights(n: int) -> None:
    generator = np.random.default_rng(n)
    sizes = generator.integers(1, 20, n).astype(float)
    sums = generator.uniform(-1, 1, n) * sizes * 0.5
    limit = float(sums.sum() / sizes.sum()) - 0.1
    weights = generator.exponential(size=(200_000, n + 1))
    total = weights @ np.r_[-sizes.max(), sums]
    means = total / (weights @ np.r_[sizes.max(), sizes])
    simulated = float((means <= limit).mean())
    assert mean_above_p(sums, sizes, 1.0, limit) == pytest.approx(simulated, abs=0.005)


def test_bounds_invert_the_test_and_are_mirrored() -> None:
    generator = np.random.default_rng(3)
    sizes = generator.integers(1, 9, 25).astype(float)
    sums = generator.uniform(-1, 1, 25) * sizes
    low, high = mean_bounds(sums, sizes, 1.0, LEVEL)
    assert mean_above_p(sums, sizes, 1.0, low) == pytest.approx(LEVEL, abs=1e-6)
    assert mean_above_p(-sums, sizes, 1.0, -high) == pytest.approx(LEVEL, abs=1e-6)
    assert mean_bounds(-sums, sizes, 1.0, LEVEL) == (-high, -low)
    assert -1 <= low < sums.sum() / sizes.sum() < high <= 1


def test_a_wider_scale_has_wider_bounds() -> None:
    differences = np.array([0.1, -0.2, 0.0, 0.3])
    narrow = mean_bounds(differences, np.ones(4), 1.0, LEVEL)
    wide = mean_bounds(2 * differences, np.ones(4), 2.0, LEVEL)
    assert wide == pytest.approx(tuple(2 * each for each in narrow))


def test_many_questions_have_the_bounds_of_the_normal_distribution() -> None:
    values = np.random.default_rng(5).normal(0.01, 0.2, 5_000).clip(-1, 1)
    half = 1.6449 * values.std() / np.sqrt(len(values))
    low, high = mean_bounds(values, np.ones(len(values)), 1.0, LEVEL)
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=4e-4)


@pytest.mark.parametrize("middle", [0.0, 0.3, -0.5])
@pytest.mark.parametrize(("n", "limit"), [(6, -0.3), (10, -0.02), (20, 0.0)])
def test_no_distribution_on_three_points_is_rejected_too_often(
    middle: float, n: int, limit: float
) -> None:
    """Computes the exact probability of a rejection for each distribution with the mean."""
    rejected = []
    for lost in range(n + 1):
        for gained in range(n + 1 - lost):
            rest = n - lost - gained
            values = np.repeat([-1.0, 1.0, middle], [lost, gained, rest])
            if mean_above_p(values, np.ones(n), 1.0, limit) <= LEVEL:
                rejected.append((lost, gained, rest))
    assert rejected
    rates = []
    for loss in np.linspace(0, 1, 101):
        gain = (limit + loss - middle * (1 - loss)) / (1 - middle)
        if gain >= 0 and gain + loss <= 1:
            shares = [loss, gain, max(0.0, 1 - gain - loss)]
            rates.append(float(stats.multinomial.pmf(rejected, n, shares).sum()))
    assert 0 < max(rates) <= LEVEL


def test_losses_in_the_largest_clusters_are_covered() -> None:
    generator = np.random.default_rng(8)
    wrong = 0
    for _ in range(400):
        sizes = generator.integers(1, 46, 40).astype(float)
        # Clusters of more than 30 have 570 / 1,035 of the questions.
        lost = (sizes > 30) & (generator.random(40) < 0.2 * 1035 / 570)
        wrong += mean_above_p(np.where(lost, -sizes, 0.0), sizes, 1.0, -0.2) <= LEVEL
    assert wrong / 400 < 0.08


@pytest.mark.parametrize(
    ("passes", "n", "limit"), [(2, 3, 0.95), (40, 50, 0.9), (0, 5, 0.3), (0, 1, 0.2)]
)
def test_a_missed_threshold_of_passes_and_failures_has_the_binomial_p(
    passes: int, n: int, limit: float
) -> None:
    values = np.r_[np.ones(passes), np.zeros(n - passes)][:, None]
    expected = stats.binom.cdf(passes, n, limit)
    (p,) = misses_p(sum_by_cluster(values, Groups()), limit, "high", (0.0, 1.0))
    assert p == pytest.approx(expected, rel=1e-6)
    # Where low is best, failures are what passes were.
    (mirrored,) = misses_p(sum_by_cluster(1 - values, Groups()), 1 - limit, "low", (0.0, np.inf))
    assert mirrored == pytest.approx(expected, rel=1e-6)


def test_a_threshold_is_tested_where_the_best_value_is_known() -> None:
    data = sum_by_cluster(np.array([[0.2, 0.9, np.nan], [0.4, 0.8, np.nan]]), Groups())
    assert misses_p(data, 0.5, "high", (0.0, 1.0))[1] == 1.0
    assert np.isnan(misses_p(data, 0.5, "high", (0.0, 1.0))[2])
    assert np.isnan(misses_p(data, 0.5, "high", (0.0, np.inf))).all()


def test_the_exact_interval_of_a_pass_rate_is_clopper_and_pearsons() -> None:
    data = sum_by_cluster(np.r_[np.ones(7), np.zeros(3)][:, None], Groups())
    assert exact_interval(data, (0.0, 1.0), 0.025) == pytest.approx(
        (stats.beta.ppf(0.025, 7, 4), stats.beta.ppf(0.975, 8, 3)), abs=1e-6
    )
    low, high = exact_interval(sum_by_cluster(np.array([[1.0]]), Groups()), (0.0, 1.0), 0.025)
    assert (low, high) == pytest.approx((0.025, 1.0), abs=1e-6)


@pytest.mark.parametrize("n", [3, 10, 40])
def test_a_threshold_at_the_truth_is_missed_in_at_most_five_percent(n: int) -> None:
    draw = np.random.default_rng(n)
    # Rare failures among high scores, the worst case for intervals; clusters of two.
    fails = np.repeat(draw.random((n, 400)) < 0.05, 2, axis=0)
    values = np.where(fails, 0.0, draw.uniform(0.8, 1.0, size=fails.shape))
    data = sum_by_cluster(values, Groups(np.arange(n).repeat(2)))
    assert (misses_p(data, 0.95 * 0.9, "high", (0.0, 1.0)) < 0.05).mean() <= 0.05
