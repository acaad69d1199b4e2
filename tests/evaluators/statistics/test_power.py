"""Detectable differences: against power analyses and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.power import clusters_needed, detectable_difference
from tests.support.services import takes_minutes


def detectable(error: float, n: int, tests: int = 1, reach: float = 1.0) -> float:
    found = detectable_difference(
        *(np.array([each]) for each in (error, n, n - 1.0, reach)),
        tests=tests,
        least=2.0 ** (1 - n),
    )
    return float(found[0])


@pytest.mark.parametrize(("n", "tests"), [(40, 1), (100, 6), (400, 45)])
def test_many_questions_have_the_power_of_the_t_test(n: int, tests: int) -> None:
    effect = TTestPower().solve_power(nobs=n, alpha=0.05 / tests, power=0.8) * 0.02 * np.sqrt(n)
    found = detectable(0.02, n, tests)
    # By the normal approximation, with an unseen question that loses 1.
    z = stats.norm.isf(0.025 / tests)
    mean = found - 0.842 * 0.02
    assert n * mean - 1 == pytest.approx(z * np.sqrt(n * (0.02**2 * n + mean**2) + 1), rel=0.15)
    # The loss of power, about reach / n, shrinks faster than the effect.
    assert effect < found < effect + 3 / n


def test_three_points_take_a_thousand_questions() -> None:
    # Miller's example, section 5: variance 1/3 of which half is shared; about 3 points of 100.
    # One unseen question of a thousand adds a tenth of a point.
    assert detectable(np.sqrt((1 / 6) / 1000), 1000) == pytest.approx(0.037, abs=0.001)


@takes_minutes
@pytest.mark.parametrize(("n", "systems"), [(20, 2), (30, 2), (30, 3), (100, 3)])
def test_the_power_is_80_percent(n: int, systems: int) -> None:
    generator, pairs = np.random.default_rng(n), every_pair(systems)
    tests = len(pairs)
    effect = detectable(0.1 / np.sqrt(n), n, tests, reach=2.0)
    found = 0
    for _ in range(300):
        shared = 0.2 * generator.random((n, 1))
        values = shared + 0.1 * generator.normal(size=(n, systems)) / np.sqrt(2)
        values[:, 0] += effect
        compared = compare(
            values, Groups(), pairs, best="high", pass_fail=False, bounds=(-1.0, 1.0)
        )
        # Without the steps after the first, Holm's adjustment is Bonferroni's.
        found += compared.p_value[0] * tests < 0.05
    assert 0.72 <= found / 300 <= 0.9


@pytest.mark.parametrize(("n", "rate"), [(20, 0.2), (30, 0.2), (50, 0.5), (200, 0.2)])
def test_the_power_of_mcnemars_test_is_80_percent(n: int, rate: float) -> None:
    generator = np.random.default_rng(n)
    effect = 0.2
    for _ in range(50):
        error = np.sqrt((max(rate, effect) - effect**2) / n)
        given = np.array([error]), np.array([n]), np.array([n - 1.0]), np.ones(1)
        effect = detectable_difference(*given, tests=1, pass_fail=True)[0]
    chance = generator.random((n, 2000))
    gains = chance < (max(rate, effect) + effect) / 2
    losses = chance > 1 - (max(rate, effect) - effect) / 2
    pairs = np.stack([np.arange(2000), 2000 + np.arange(2000)], axis=1)
    values = np.hstack([gains, losses]).astype(float)
    p = compare(values, Groups(), pairs, best="high", pass_fail=True).p_value
    assert 0.72 <= np.mean(p < 0.05) <= 0.9


def test_nothing_is_detectable_where_nothing_can_be_significant() -> None:
    assert np.isnan(detectable(0.1, 5))
    assert np.isnan(detectable(0.1, 8, tests=45))
    assert detectable(0.1, 6) > 0
    assert np.isnan(detectable(0.0, 50))
    assert np.isnan(detectable(np.nan, 1))


@pytest.mark.parametrize("pass_fail", [True, False])
@pytest.mark.parametrize("tests", [1, 45])
def test_the_needed_clusters_detect_the_difference(pass_fail: bool, tests: int) -> None:
    errors, clusters = np.array([0.05, 0.02, 0.1]), np.array([50, 50, 20])
    degrees, reach = np.array([49.0, 49.0, 11.0]), np.ones(3)
    needed = clusters_needed(
        0.03, errors, clusters, degrees, reach, tests=tests, pass_fail=pass_fail
    )
    for count, is_enough in ((needed, True), (needed - 1, False)):
        found = detectable_difference(
            errors * np.sqrt(clusters / count),
            count,
            degrees / (clusters - 1) * (count - 1),
            reach,
            tests=tests,
            pass_fail=pass_fail,
        )
        assert ((found <= 0.03) == is_enough).all()


def test_without_variation_the_needed_clusters_are_unknown() -> None:
    errors = np.array([0.0, np.nan, 1e9])
    given = errors, np.array([50, 1, 50]), np.array([49.0, 0.0, 49.0]), np.ones(3)
    assert clusters_needed(0.01, *given, tests=3).tolist() == [0, 0, 0]
