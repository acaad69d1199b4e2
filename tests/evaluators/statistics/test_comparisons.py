"""Comparisons against scipy and statsmodels, and what they get right in simulations."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import (
    Comparisons,
    compare,
    detectable_difference,
    every_pair,
    mcnemar_p,
)
from evaluators.statistics.holm import holm
from evaluators.statistics.permutation_test import least_p, sign_flip_p
from tests.evaluators.statistics.simulate import benchmarks
from tests.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator


def compared(
    values: np.ndarray, clusters: np.ndarray | None = None, best: str = "high"
) -> Comparisons:
    groups = Groups(clusters)
    passing = bool(np.isin(values[np.isfinite(values)], (0, 1)).all())
    return compare(values, groups, every_pair(values.shape[1]), best=best, pass_fail=passing)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_that_of_statsmodels(gained: int, lost: int) -> None:
    expected = mcnemar([[5, gained], [lost, 5]], exact=True).pvalue
    ours = mcnemar_p(np.array([gained]), np.array([lost]))[0]
    assert ours == pytest.approx(1.0 if gained + lost == 0 else expected)


@pytest.fixture
def tidied() -> Iterator[None]:
    """Nothing to look for: statsmodels searches for garbage, among all that is, at each call."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("tidied")
@settings(max_examples=20)
@given(st.lists(st.floats(1e-12, 1), min_size=1, max_size=30))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    expected = multipletests(p_values, method="holm")[1]
    assert holm(np.array(p_values)) == pytest.approx(expected)


def test_tests_that_could_not_be_made_are_not_counted() -> None:
    adjusted = holm(np.array([0.01, np.nan, 0.02]))
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.02])
    assert np.isnan(adjusted[1])


@pytest.mark.parametrize("clusters", [3, 8, 13])
def test_few_clusters_are_tested_exactly(clusters: int) -> None:
    differences = np.random.default_rng(clusters).normal(0.5, 1, size=clusters)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(differences[:, None])[0] == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("shift", [0.0, 0.2, 0.5])
def test_many_clusters_are_tested_as_by_scipy(shift: float) -> None:
    differences = np.random.default_rng(11).normal(shift, 1, size=40).round(1)
    expected = stats.permutation_test(
        (differences,), np.sum, permutation_type="samples", n_resamples=20_000, rng=12
    ).pvalue
    ours = sign_flip_p(differences[:, None])[0]
    assert ours == pytest.approx(expected, abs=3 * np.sqrt(expected * (1 - expected) / 1e4) + 1e-3)


def test_what_draws_cannot_resolve_is_small_but_not_nothing() -> None:
    certain = np.ones((200, 1))
    p = sign_flip_p(certain)[0]
    # All 200 differences alike: exactly 2 of 2 ** 200 patterns; the normal tail is more careful.
    assert 2.0**-199 <= p < 1e-30
    assert sign_flip_p(np.ones((14, 1)))[0] >= 2.0**-13


def test_pairs_of_columns_are_tested_like_their_differences() -> None:
    values = np.random.default_rng(13).random((30, 4))
    pairs = every_pair(4)
    by_pair = sign_flip_p(values, pairs)
    by_difference = sign_flip_p(values[:, pairs[:, 0]] - values[:, pairs[:, 1]])
    assert by_pair == pytest.approx(by_difference, abs=1e-12)


def test_a_question_that_one_lacks_is_left_out_of_its_pairs_only() -> None:
    values = np.random.default_rng(14).random((40, 3))
    values[:15, 2] = np.nan
    found = compared(values)
    assert found.n_pairs.tolist() == [40, 25, 25]
    assert found.difference[1] == pytest.approx((values[15:, 0] - values[15:, 2]).mean())
    alone = compared(values[15:, [0, 2]])
    for name in ("difference", "low", "high"):
        assert getattr(found, name)[1] == pytest.approx(getattr(alone, name)[0])
    expected = stats.ttest_rel(values[15:, 0], values[15:, 2]).confidence_interval()
    assert (found.low[1], found.high[1]) == pytest.approx(tuple(expected))


def test_clusters_count_once_however_many_questions_they_hold() -> None:
    generator = np.random.default_rng(15)
    effect = generator.normal(0.3, 1, size=10)
    values = np.zeros((200, 2))
    values[:, 0] = np.repeat(effect, 20)
    clusters = np.repeat(np.arange(10), 20)
    found = compared(values, clusters)
    expected = stats.permutation_test(
        (effect,), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert found.p_value[0] == pytest.approx(expected.pvalue)
    interval = stats.ttest_1samp(effect, 0).confidence_interval()
    assert (found.low[0], found.high[0]) == pytest.approx(tuple(interval))


def test_verdicts_follow_the_direction_of_the_metric() -> None:
    values = np.random.default_rng(16).random((100, 2)) + np.array([0.5, 0.0])
    assert compared(values).verdict == ["better"]
    assert compared(values, best="low").verdict == ["worse"]
    assert compared(values[:, ::-1]).verdict == ["worse"]
    assert compared(np.random.default_rng(1).random((100, 2))).verdict == ["tied"]


def test_where_no_answer_could_decide_there_is_not_enough_data() -> None:
    assert compared(np.tile([1.0, 0.0], (5, 1))).verdict == ["not_enough_data"]
    assert compared(np.tile([1.0, 0.0], (6, 1))).verdict == ["better"]
    assert compared(np.tile([0.9, 0.2], (5, 1))).verdict == ["not_enough_data"]
    assert compared(np.full((3, 2), np.nan)).verdict == ["not_enough_data"]
    # Of 45 pairs, 6 questions decide none.
    assert set(compared(np.random.default_rng(0).random((6, 10))).verdict) == {"not_enough_data"}
    assert least_p(np.array([6]))[0] == pytest.approx(2 / 2**6)


def test_equal_systems_are_tied_and_have_no_interval() -> None:
    values = np.tile(np.random.default_rng(17).random((50, 1)), 2)
    found = compared(values)
    assert found.verdict == ["tied"]
    assert found.p_value[0] == 1
    assert np.isnan([found.low[0], found.detectable[0]]).all()


def test_the_detectable_difference_is_that_of_a_power_analysis() -> None:
    error, n = 0.02, 400
    effect = TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8)
    expected = effect * error * np.sqrt(n)
    assert detectable_difference(np.array([error]))[0] == pytest.approx(expected, rel=0.01)


def test_three_points_take_a_thousand_questions() -> None:
    # Miller's example, section 5: variance 1/3 of which half is shared; about 3 points of 100.
    error = np.sqrt((1 / 6) / 1000)
    assert detectable_difference(np.array([error]))[0] == pytest.approx(0.036, abs=0.001)


@takes_minutes
@pytest.mark.parametrize("passes", [True, False])
def test_holm_keeps_the_family_wise_error(passes: bool) -> None:
    systems, wrong = 5, 0
    trials = 400
    for trial in range(trials):
        values, clusters, _ = benchmarks(60, 1, systems, seed=trial, passes=passes)
        wrong += bool(np.nanmin(compared(values, clusters).p_adjusted) < 0.05)
    # Three standard errors above 5 %; exact tests of passes stay well below.
    assert wrong / trials <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)


def test_p_values_of_equal_systems_are_uniform() -> None:
    generator = np.random.default_rng(18)
    level = generator.random((80, 1))
    values = level + generator.exponential(size=(80, 600))
    p = sign_flip_p(values[:, ::2] - values[:, 1::2])
    assert stats.kstest(p, "uniform").pvalue > 0.001


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("size", [1, 3])
def test_pairs_without_gaps_are_compared_as_pairs_with_gaps_are(passes: bool, size: int) -> None:
    values, clusters, _ = benchmarks(20, size, 4, seed=19, passes=passes)
    complete = compared(values, clusters)
    gappy = np.hstack([values, np.full((len(values), 1), np.nan)])
    found = compared(gappy, clusters)
    shared = [at for at, pair in enumerate(found.pairs.tolist()) if pair[1] < 4]
    for name in ("n_pairs", "clusters", "difference", "low", "high", "p_value", "detectable"):
        ours = getattr(found, name)[shared]
        assert ours == pytest.approx(getattr(complete, name), nan_ok=True), name


@given(arrays.arrays(float, (9, 3), elements=st.floats(-4, 4)))
def test_no_verdict_goes_against_its_interval(values: np.ndarray) -> None:
    found = compare(values, Groups(), every_pair(3), best="high", pass_fail=False)
    for verdict, low, high in zip(found.verdict, found.low, found.high, strict=True):
        assert not (verdict in ("better", "worse") and low <= 0 <= high)


def test_one_question_that_differs_far_more_than_the_others_proves_nothing() -> None:
    # All nine gains are positive, so that flipping signs gives the least p there is.
    gains = np.array([9.0, *[0.01] * 8])
    found = compare(
        np.stack([gains, 0 * gains], axis=1), Groups(), every_pair(2), best="high", pass_fail=False
    )
    assert found.p_adjusted[0] == 2 * 0.5**9
    assert found.low[0] < 0
    assert found.verdict == ["tied"]
