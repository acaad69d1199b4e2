"""Intervals against statsmodels, scipy, golden numbers, and the truth in simulations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from evaluators.statistics.arrays import CONFIDENCE
from evaluators.statistics.bootstrap import LARGE, cluster_weights, resampled_means
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.intervals import (
    Uncertainty,
    bootstrap_interval,
    constant_interval,
    effective_sample_size,
    is_pass_fail,
    t_interval,
    uncertainty,
    wilson,
)
from tests.evaluators.statistics.simulate import benchmarks
from tests.golden_cases import golden
from tests.services import takes_minutes

WILSON = [case for case in golden("aggregation")["cases"] if case["kind"] == "wilson_interval"]
UNIT = (0.0, 1.0)
OPEN = (-np.inf, np.inf)


def found(
    values: list[list[float]] | np.ndarray,
    clusters: list[int] | None = None,
    bounds: tuple[float, float] = UNIT,
    **choices: str,
) -> Uncertainty:
    """Return the uncertainty of columns, by default with each question as its own cluster."""
    numbers = np.asarray(values, dtype=np.float64)
    groups = np.arange(len(numbers)) if clusters is None else np.asarray(clusters)
    data = sum_by_cluster(numbers, Groups(groups))
    passing = is_pass_fail(numbers)
    draws = resampled_means(data)
    return uncertainty(data, draws, pass_fail=passing, bounds=bounds, **choices)


@pytest.mark.parametrize("case", WILSON, ids=lambda case: case["id"])
def test_wilson_is_as_published(case: dict) -> None:
    given = case["input"]
    n = np.array([float(given["n"])])
    assert given["confidence"] == CONFIDENCE
    low, high = wilson(np.array([float(given["successes"])]), n)
    assert low[0] == pytest.approx(case["expected"]["low"], abs=1e-9)
    assert high[0] == pytest.approx(case["expected"]["high"], abs=1e-9)


@given(st.integers(1, 5000), st.floats(0, 1))
def test_wilson_is_that_of_statsmodels(n: int, share: float) -> None:
    passes = round(share * n)
    expected = proportion_confint(passes, n, method="wilson")
    interval = wilson(np.array([float(passes)]), np.array([float(n)]))
    assert [end[0] for end in interval] == pytest.approx(list(expected), abs=1e-12)


def test_wilson_of_nothing_is_nothing() -> None:
    assert np.isnan(wilson(np.zeros(1), np.zeros(1))).all()


@pytest.mark.parametrize("size", [1, 4])
def test_standard_errors_are_those_of_a_regression_with_clusters(size: int) -> None:
    values, clusters, _ = benchmarks(25, size, 3, seed=1, passes=False)
    errors = sum_by_cluster(values, Groups(clusters)).std_errors
    for column, error in enumerate(errors):
        fit = OLS(values[:, column], np.ones(len(values))).fit()
        robust = fit.get_robustcov_results("cluster", groups=clusters, df_correction=True)
        assert error == pytest.approx(robust.bse[0], rel=1e-9)
    if size == 1:
        assert errors == pytest.approx(stats.sem(values, axis=0), rel=1e-12)


def test_t_intervals_are_those_of_scipy() -> None:
    values = np.random.default_rng(3).normal(5, 2, size=(40, 4))
    data = sum_by_cluster(values, Groups(np.arange(40)))
    expected = stats.t.interval(0.95, 39, loc=values.mean(axis=0), scale=stats.sem(values, axis=0))
    direct = t_interval(data.means, data.std_errors, data.degrees_of_freedom)
    chosen = found(values, bounds=OPEN, method="t").interval
    for ours in (direct, chosen):
        assert np.array(ours) == pytest.approx(np.array(expected))


def test_bootstrap_draws_spread_like_those_of_scipy() -> None:
    values = np.random.default_rng(4).gamma(2, size=60)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=4000, method="percentile", rng=5)
    draws = resampled_means(sum_by_cluster(values[:, None], Groups(np.arange(60))))
    assert draws.std(ddof=1) == pytest.approx(theirs.standard_error, rel=0.05)
    plain = np.quantile(draws, [0.025, 0.975])
    width = np.ptp(theirs.confidence_interval)
    assert plain == pytest.approx(list(theirs.confidence_interval), abs=0.05 * width)
    # The expanded interval is wider than the plain one, by what Student's t is.
    ours = bootstrap_interval(draws, np.array([60]))
    expected = stats.t.ppf(0.975, 59) / stats.norm.ppf(0.975) * np.sqrt(60 / 59)
    assert (ours.high[0] - ours.low[0]) / np.ptp(plain) == pytest.approx(expected, rel=0.02)


def test_every_draw_holds_as_many_clusters_as_there_are() -> None:
    weights = cluster_weights(37, draws=100)
    assert (weights.sum(axis=1) == 37).all()
    assert weights.var() == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("clusters", [50, 200, pytest.param(1000, marks=takes_minutes)])
@pytest.mark.parametrize("passes", [True, False])
def test_intervals_cover_the_truth(clusters: int, passes: bool) -> None:
    covered = _coverage(clusters, 1, passes=passes)
    assert 0.94 <= covered <= 0.96


@pytest.mark.parametrize(
    ("clusters", "passes"),
    [(50, False), *(pytest.param(200, passes, marks=takes_minutes) for passes in (True, False))],
)
def test_intervals_of_clusters_cover_the_truth(clusters: int, passes: bool) -> None:
    assert 0.94 <= _coverage(clusters, 5, passes=passes) <= 0.96
    naive = _coverage(clusters, 5, passes=passes, ignore_clusters=True)
    assert naive < 0.9


def _coverage(clusters: int, size: int, *, passes: bool, ignore_clusters: bool = False) -> float:
    repeats = 8000 if clusters < 500 else 4000
    values, groups, truth = benchmarks(clusters, size, repeats, seed=clusters, passes=passes)
    if ignore_clusters:
        groups = np.arange(len(values))
    data = sum_by_cluster(values, Groups(groups))
    # Each benchmark would draw for itself; here all of them see the same draws, which are many.
    draws = np.empty((0, repeats)) if passes else resampled_means(data)
    low, high = uncertainty(data, draws, pass_fail=passes, bounds=UNIT).interval
    return float(((low <= truth) & (truth <= high)).mean())


def test_the_normal_draws_of_large_benchmarks_have_the_covariance_of_the_bootstrap() -> None:
    generator = np.random.default_rng(6)
    level = generator.random((LARGE + 1, 1))
    values = (level + generator.random((LARGE + 1, 3))) / 2
    data = sum_by_cluster(values, Groups(np.arange(len(values))))
    expected = np.cov(values, rowvar=False) / len(values)
    assert np.cov(resampled_means(data), rowvar=False) == pytest.approx(expected, rel=0.15)
    result = uncertainty(data, np.empty((0, 3)), pass_fail=False, bounds=UNIT)
    assert result.method == "t"
    assert result.interval.low == pytest.approx(values.mean(0) - 1.96 * result.std_error, rel=1e-3)


def test_clusters_of_equal_answers_are_worth_one_question_each() -> None:
    values = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0], 5)[:, None]
    data = sum_by_cluster(values, Groups(np.repeat(np.arange(8), 5)))
    # 8 clusters, and less for estimating the effect from so few of them.
    assert 4 < effective_sample_size(data)[0] < 8
    assert effective_sample_size(sum_by_cluster(values, Groups(np.arange(40))))[0] == 40


def test_nothing_one_question_and_no_variance() -> None:
    nothing = found([[np.nan], [np.nan]])
    assert np.isnan([nothing.std_error[0], *(end[0] for end in nothing.interval)]).all()
    one = found([[0.4]])
    assert np.isnan([one.std_error[0], *(end[0] for end in one.interval)]).all()
    passed = found([[1.0]])
    assert passed.method == "wilson"
    assert passed.interval.low[0] == pytest.approx(0.2065493)
    assert np.isnan(passed.std_error[0])
    same = found([[0.5]] * 20)
    assert same.std_error[0] == 0
    assert same.interval.low[0] == pytest.approx(0.5 - 0.5 * (1 - 0.05 ** (1 / 20)))
    assert np.isnan(found([[0.5]] * 20, bounds=OPEN).interval.low[0])


def test_the_rule_of_three() -> None:
    low, high = constant_interval(np.array([0.0]), np.array([1000]), UNIT)
    assert low[0] == 0
    assert high[0] == pytest.approx(3 / 1000, rel=0.01)


def test_a_missing_number_takes_no_part() -> None:
    values = np.random.default_rng(7).random((50, 1))
    padded = np.vstack([values, np.full((9, 1), np.nan)])
    data, more = (sum_by_cluster(v, Groups(np.arange(len(v)))) for v in (values, padded))
    assert more.means == pytest.approx(data.means)
    assert more.std_errors == pytest.approx(data.std_errors)
    assert more.clusters == data.clusters == 50


@given(st.lists(st.floats(0, 1), min_size=2, max_size=30))
def test_an_interval_lies_within_bounds_and_holds_the_mean(numbers: list[float]) -> None:
    values = np.array(numbers)[:, None]
    result = found(values)
    (low,), (high,) = result.interval
    assert 0 <= low <= values.mean() + 1e-9
    assert values.mean() - 1e-9 <= high <= 1


def test_the_order_of_questions_does_not_matter() -> None:
    values, clusters, _ = benchmarks(20, 3, 2, seed=8, passes=False)
    order = np.random.default_rng(9).permutation(len(values))
    data = sum_by_cluster(values, Groups(clusters))
    shuffled = sum_by_cluster(values[order], Groups(clusters[order]))
    assert shuffled.std_errors == pytest.approx(data.std_errors)
    assert shuffled.sums == pytest.approx(data.sums)
