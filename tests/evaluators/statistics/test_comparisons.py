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
from statsmodels.stats.multitest import multipletests

from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import (
    Comparisons,
    compare,
    every_pair,
)
from evaluators.statistics.holm import holm
from tests.evaluators.statistics.simulate import benchmarks
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator


def compared(
    values: np.ndarray,
    clusters: np.ndarray | None = None,
    best: str = "high",
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> Comparisons:
    groups, pairs = Groups(clusters), every_pair(values.shape[1])
    passing = bool(np.isin(values[np.isfinite(values)], (0, 1)).all())
    return compare(values, groups, pairs, best=best, pass_fail=passing, bounds=bounds)


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
    # Wider than Student's, because an unseen question may have the worst possible difference.
    assert found.low[1] < expected.low < expected.high < found.high[1]


def test_clusters_count_once_however_many_questions_they_hold() -> None:
    generator = np.random.default_rng(15)
    effect = generator.normal(0.3, 1, size=10)
    values = np.zeros((200, 2))
    values[:, 0] = np.repeat(effect, 20)
    clusters = np.repeat(np.arange(10), 20)
    found = compared(values, clusters)
    alone = compared(np.stack([effect, np.zeros(10)], axis=1))
    for name in ("p_value", "low", "high", "std_error", "detectable"):
        ours = getattr(found, name)[0]
        assert ours == pytest.approx(getattr(alone, name)[0], rel=1e-6), name


def test_verdicts_follow_the_direction_of_the_metric() -> None:
    values = np.random.default_rng(16).random((100, 2)) + np.array([0.6, 0.0])
    assert compared(values).verdict == ["better"]
    assert compared(values, best="low").verdict == ["worse"]
    assert compared(values[:, ::-1]).verdict == ["worse"]
    assert compared(np.random.default_rng(1).random((100, 2))).verdict == ["tied"]


def test_where_no_answer_could_decide_there_is_not_enough_data() -> None:
    assert compared(np.tile([1.0, 0.0], (5, 1))).verdict == ["not_enough_data"]
    assert compared(np.tile([1.0, 0.0], (6, 1))).verdict == ["better"]
    assert compared(np.tile([0.9, 0.2], (5, 1)), bounds=(0.0, 1.0)).verdict == ["not_enough_data"]
    # Without bounds, equal differences do not say what others there may be.
    assert compared(np.tile([0.9, 0.2], (50, 1))).verdict == ["not_enough_data"]
    assert compared(np.full((3, 2), np.nan)).verdict == ["not_enough_data"]
    # Of 45 pairs, 6 questions decide none.
    assert set(compared(np.random.default_rng(0).random((6, 10))).verdict) == {"not_enough_data"}


def test_equal_systems_are_tied_within_the_rule_of_three() -> None:
    values = np.tile(np.random.default_rng(17).random((50, 1)), 2)
    found = compared(values)
    assert found.verdict == ["not_enough_data"]
    assert found.p_value[0] == 1
    assert found.std_error[0] == 0
    assert np.isnan([found.low[0], found.detectable[0]]).all()
    bounded = compared(values, bounds=(0.0, 1.0))
    assert bounded.verdict == ["tied"]
    assert bounded.high[0] == pytest.approx(1 - 0.025 ** (1 / 50), rel=1e-6)
    assert bounded.low[0] == pytest.approx(-bounded.high[0])


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.4), (0.1, 0.1), (0.7, 0.1), (1.0, 0.0)])
@pytest.mark.parametrize("size", [1, 5])
@pytest.mark.parametrize("gaps", [True, False])
def test_constant_columns_have_a_bound_but_no_variation(
    a: float, b: float, size: int, gaps: bool
) -> None:
    values = np.tile([a, b, 0.3], (60, 1))
    values[-size:, 2] = np.nan if gaps else 0.3
    found = compared(values, np.repeat(np.arange(60 // size), size), bounds=(0.0, 1.0))
    share = 1 - 0.025 ** (size / 60)
    assert found.std_error[0] == 0
    assert np.isnan(found.detectable[0])
    assert found.low[0] == pytest.approx(a - b - share * (a - b + 1), abs=1e-6)
    assert found.high[0] == pytest.approx(a - b + share * (1 - a + b), abs=1e-6)
    assert found.low[0] < a - b < found.high[0] or a - b == 1


@given(arrays.arrays(float, (4, 3), elements=st.floats(-1, 1)))
def test_intervals_of_differences_are_attainable(values: np.ndarray) -> None:
    found = compared(values, bounds=(-1.0, 1.0))
    assert (found.low >= -2).all()
    assert (found.high <= 2).all()
    assert (found.low <= found.difference + 1e-12).all()
    assert (found.difference - 1e-12 <= found.high).all()


def test_a_single_cluster_says_little() -> None:
    values = np.random.default_rng(3).random((9, 2))
    for each in (values[:1], values):
        found = compared(each, np.zeros(len(each), dtype=int), bounds=(0.0, 1.0))
        gain = found.difference[0]
        # P(gain * E <= loss * E') is loss / (loss + gain): the share of 0.975 of the way to -1.
        assert found.low[0] == pytest.approx(gain - 0.975 * (1 + gain), rel=1e-5)
        assert found.high[0] == pytest.approx(gain + 0.975 * (1 - gain), rel=1e-5)
        assert np.isnan([found.std_error[0], found.detectable[0]]).all()
        assert found.verdict == ["not_enough_data"]
        assert np.isnan(compared(each, np.zeros(len(each), dtype=int)).low[0])


def test_large_numbers_are_compared_like_small_ones() -> None:
    values = np.random.default_rng(23).random((40, 3))
    small, large = compared(values), compared(values * 1e12)
    assert large.p_value == pytest.approx(small.p_value)
    assert large.low == pytest.approx(small.low * 1e12)
    assert large.detectable == pytest.approx(small.detectable * 1e12)
    # Adding 1e12 rounds the numbers to four digits.
    shifted = compared(values + 1e12)
    assert shifted.difference == pytest.approx(small.difference, abs=1e-3)
    # Differences below a tenth are rounding, then.
    assert shifted.low == pytest.approx(small.low, abs=1e-2)


def test_a_pair_has_the_same_test_beside_any_other_system() -> None:
    passes = (np.random.default_rng(24).random((40, 2)) < [0.5, 0.8]).astype(float)
    newcomer = np.full((40, 1), 0.5)
    pass_fail = np.array([True, True, False])
    values = np.hstack([passes, newcomer])
    found = compare(values, Groups(), every_pair(3), best="high", pass_fail=pass_fail)
    assert found.p_value[0] == compared(passes).p_value[0]


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
    # All nine gains are positive.
    gains = np.array([9.0, *[0.01] * 8])
    found = compare(
        np.stack([gains, 0 * gains], axis=1), Groups(), every_pair(2), best="high", pass_fail=False
    )
    assert found.p_adjusted[0] > 0.5
    assert found.low[0] < 0
    assert found.verdict == ["tied"]


@pytest.mark.parametrize("gap", [False, True])
def test_the_same_scores_in_another_order_differ_by_nothing(gap: bool) -> None:
    rng = np.random.default_rng(5)
    scores = rng.choice([0.1, 0.3, 0.6, 0.7, 2 / 3, 1.0], 41)
    values = np.stack([scores, *(rng.permutation(scores) for _ in range(20))], axis=1)
    if gap:
        values = np.vstack([values, np.full(values.shape[1], np.nan)])
    assert set(compared(values, bounds=(0.0, 1.0)).difference) == {0.0}
    # What is small, but no rounding, stays.
    found = compared(np.stack([scores, scores + 1e-12], axis=1), bounds=(0.0, 2.0))
    assert found.difference[0] == pytest.approx(-1e-12, rel=1e-3)
