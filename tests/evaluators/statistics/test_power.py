"""Detectable differences: against power analyses and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.power import TTestPower

from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.power import clusters_needed, detectable_difference
from tests.services import takes_minutes


def detectable(error: float, n: int, tests: int = 1) -> float:
    found = detectable_difference(
        np.array([error]), np.array([n]), np.array([n - 1.0]), tests=tests
    )
    return float(found[0])


@pytest.mark.parametrize(("n", "tests"), [(40, 1), (100, 6), (400, 45)])
def test_many_questions_have_the_power_of_the_t_test(n: int, tests: int) -> None:
    effect = TTestPower().solve_power(nobs=n, alpha=0.05 / tests, power=0.8)
    assert detectable(0.02, n, tests) == pytest.approx(effect * 0.02 * np.sqrt(n), rel=0.01)


def test_three_points_take_a_thousand_questions() -> None:
    # Miller's example, section 5: variance 1/3 of which half is shared; about 3 points of 100.
    assert detectable(np.sqrt((1 / 6) / 1000), 1000) == pytest.approx(0.036, abs=0.001)


@takes_minutes
@pytest.mark.parametrize(("n", "systems"), [(6, 2), (8, 3), (10, 2), (10, 3), (30, 2), (30, 3)])
def test_the_power_is_80_percent(n: int, systems: int) -> None:
    generator, pairs = np.random.default_rng(n), every_pair(systems)
    tests = len(pairs)
    effect = detectable(1 / np.sqrt(n), n, tests)
    found = 0
    for _ in range(300):
        shared = generator.normal(size=(n, 1))
        values = shared + generator.normal(size=(n, systems)) / np.sqrt(2)
        values[:, 0] += effect
        compared = compare(values, Groups(), pairs, best="high", pass_fail=False)
        # Without the steps after the first, Holm's adjustment is Bonferroni's.
        found += compared.p_value[0] * tests < 0.05
    assert 0.72 <= found / 300 <= 0.9


@pytest.mark.parametrize(("n", "rate"), [(20, 0.2), (30, 0.2), (50, 0.5), (200, 0.2)])
def test_the_power_of_mcnemars_test_is_80_percent(n: int, rate: float) -> None:
    generator = np.random.default_rng(n)
    effect = 0.2
    for _ in range(50):
        error = np.sqrt((max(rate, effect) - effect**2) / n)
        given = np.array([error]), np.array([n]), np.array([n - 1.0])
        effect = detectable_difference(*given, tests=1, is_mcnemar=True)[0]
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


@pytest.mark.parametrize("is_mcnemar", [True, False])
@pytest.mark.parametrize("tests", [1, 45])
def test_the_needed_clusters_detect_the_difference(is_mcnemar: bool, tests: int) -> None:
    errors, clusters = np.array([0.05, 0.02, 0.1]), np.array([50, 50, 20])
    degrees = np.array([49.0, 49.0, 11.0])
    needed = clusters_needed(0.03, errors, clusters, degrees, tests=tests, is_mcnemar=is_mcnemar)
    for count, is_enough in ((needed, True), (needed - 1, False)):
        found = detectable_difference(
            errors * np.sqrt(clusters / count),
            count,
            degrees / (clusters - 1) * (count - 1),
            tests=tests,
            is_mcnemar=is_mcnemar,
        )
        assert ((found <= 0.03) == is_enough).all()


def test_without_variation_the_needed_clusters_are_unknown() -> None:
    errors = np.array([0.0, np.nan, 1e9])
    given = errors, np.array([50, 1, 50]), np.array([49.0, 0.0, 49.0])
    assert clusters_needed(0.01, *given, tests=3).tolist() == [0, 0, 0]
