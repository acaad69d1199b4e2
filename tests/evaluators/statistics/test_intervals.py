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
from evaluators.statistics.clusters import Groups, Independence, sum_by_cluster
from evaluators.statistics.intervals import (
    Uncertainty,
    effective_sample_size,
    is_pass_fail,
    no_variation_interval,
    t_interval,
    uncertainty,
    wilson,
)
from tests.evaluators.statistics.simulate import benchmarks
from tests.support.golden_cases import golden
from tests.support.services import takes_minutes

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
    passing = np.array([is_pass_fail(column) for column in numbers.T])
    return uncertainty(data, pass_fail=passing, bounds=bounds, **choices)


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


def test_the_adjustment_removes_the_skewness_of_t() -> None:
    # Hall's transformation of t at the ends of the interval is the quantile of Student's t.
    values = np.random.default_rng(4).gamma(2, size=(30, 5))
    data = sum_by_cluster(values, Groups())
    interval = found(values, bounds=OPEN).interval
    skewness = stats.skew(values, axis=0)
    for end, side in zip(interval, (1, -1), strict=True):
        t = (data.means - end) / data.std_errors
        a = skewness / np.sqrt(30)
        transformed = t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6
        assert transformed == pytest.approx(side * stats.t.ppf(0.975, 29))


def test_the_adjusted_interval_is_that_of_the_studentised_bootstrap() -> None:
    generator = np.random.default_rng(5)
    values = generator.gamma(2, size=(60, 1))
    weights = generator.multinomial(60, np.full(60, 1 / 60), size=20_000)
    means = weights @ values / 60
    errors = np.sqrt((weights @ values**2 / 60 - means**2) / 59)
    low, high = np.quantile((means - values.mean()) / errors, [0.025, 0.975])
    expected = values.mean() - np.array([high, low]) * stats.sem(values)
    plain = stats.t.interval(0.95, 59, loc=values.mean(), scale=stats.sem(values)[0])
    adjusted = np.ravel(found(values, bounds=OPEN).interval)
    assert adjusted == pytest.approx(expected, abs=0.1 * np.ptp(expected))
    assert np.abs(adjusted - expected).sum() < np.abs(np.array(plain) - expected).sum() / 2


def test_without_skewness_there_is_no_adjustment() -> None:
    values = np.concatenate([-np.arange(1.0, 21), np.arange(1.0, 21)])[:, None]
    adjusted = found(values, bounds=OPEN)
    plain = found(values, bounds=OPEN, method="t")
    assert (adjusted.methods, plain.methods) == (["skew_adjusted_t"], ["t"])
    assert np.array(adjusted.interval) == pytest.approx(np.array(plain.interval))


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
    low, high = uncertainty(data, pass_fail=np.full(repeats, passes), bounds=UNIT).interval
    return float(((low <= truth) & (truth <= high)).mean())


@pytest.mark.parametrize(("clusters", "least"), [(10, 0.88), (30, 0.91)])
def test_skewed_numbers_are_covered(clusters: int, least: float) -> None:
    values = np.random.default_rng(6).lognormal(size=(clusters, 4000))
    low, high = found(values, bounds=(0.0, np.inf)).interval
    covered = ((low <= np.exp(0.5)) & (np.exp(0.5) <= high)).mean()
    # Expanded bootstrap percentiles cover 0.84 and 0.90.
    assert covered > least


@pytest.mark.parametrize("clusters", [2, 3, 5, 7])
def test_very_few_numbers_have_the_interval_of_student(clusters: int) -> None:
    values = np.random.default_rng(7).normal(0.5, 0.05, size=(clusters, 4000))
    result = found(values)
    low, high = result.interval
    assert set(result.methods) == {"t"}
    assert 0 <= low.min() < high.max() <= 1
    # Percentiles of the bootstrap cover 0.5 with two numbers and 0.75 with three.
    assert ((low <= 0.5) & (high >= 0.5)).mean() == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(("passes", "least"), [(True, 0.945), (False, 0.91)])
def test_unequal_clusters_are_covered(passes: bool, least: float) -> None:
    sizes = np.linspace(1, 45, 10).round().astype(int)
    generator = np.random.default_rng(8)
    codes = np.repeat(np.arange(10), sizes)
    level = generator.beta(6.3, 2.7, size=(10, 4000))[codes]
    values = (
        (generator.random(level.shape) < level).astype(np.float64)
        if passes
        else generator.beta(4 * level, 4 * (1 - level))
    )
    data = sum_by_cluster(values, Groups(codes))
    low, high = uncertainty(data, pass_fail=np.full(4000, passes), bounds=UNIT).interval
    assert ((low <= 0.7) & (high >= 0.7)).mean() > least


def test_a_large_cluster_hides_the_skewness() -> None:
    values = np.random.default_rng(9).gamma(1, size=(79, 1))
    codes = np.minimum(np.arange(79), 19)
    data = sum_by_cluster(values, Groups(codes))
    result = uncertainty(data, pass_fail=np.array([False]), bounds=OPEN)
    assert result.methods == ["t"]
    assert data.effective_clusters[0] < 2
    plain = t_interval(data.means, data.std_errors, data.degrees_of_freedom)
    assert np.array(result.interval) == pytest.approx(np.array(plain))


def test_clusters_of_equal_answers_are_worth_one_question_each() -> None:
    values = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0], 5)[:, None]
    data = sum_by_cluster(values, Groups(np.repeat(np.arange(8), 5)))
    # 8 clusters, and less for estimating the effect from so few of them.
    assert 4 < effective_sample_size(data)[0] < 8
    assert effective_sample_size(sum_by_cluster(values, Groups(np.arange(40))))[0] == 40


def test_nothing_and_one_question() -> None:
    nothing = found([[np.nan], [np.nan]])
    assert np.isnan([nothing.std_error[0], *(end[0] for end in nothing.interval)]).all()
    one = found([[0.4]])
    assert np.isnan([one.std_error[0], *(end[0] for end in one.interval)]).all()
    assert one.methods == nothing.methods == [None]
    passed = found([[1.0]])
    assert passed.methods == ["wilson"]
    assert passed.interval.low[0] == pytest.approx(0.2065493)
    assert np.isnan(passed.std_error[0])


@pytest.mark.parametrize(
    "numbers",
    [
        [0.5] * 20,
        [0.1] * 20,
        [0.1 + 0.2, 0.3] * 10,
        [0.3 - 0.2, 0.1] * 10,
        [0.1 + 0.2 - 0.3, 0.0] * 10,
    ],
)
def test_rounding_is_no_variation(numbers: list[float]) -> None:
    same = found([[number] for number in numbers])
    mean, share = float(np.mean(numbers)), 1 - 0.05 ** (1 / 20)
    assert (same.methods, same.std_error[0]) == (["no_variation"], 0)
    assert same.interval.low[0] == pytest.approx(mean - mean * share)
    assert same.interval.high[0] == pytest.approx(mean + (1 - mean) * share)


def test_equal_numbers_on_an_open_scale_have_a_method_but_no_interval() -> None:
    large = found([[1e12 + 0.1], [1e12 + 0.1], [1e12 + 0.1001]] * 4, bounds=OPEN)
    assert (large.methods, large.std_error[0]) == (["no_variation"], 0)
    assert np.isnan(large.interval.low[0])


def test_large_numbers_vary() -> None:
    small = np.random.default_rng(10).normal(0, 10, size=(40, 1))
    plain, shifted = found(small, bounds=OPEN), found(small + 1e12, bounds=OPEN)
    assert shifted.methods == ["skew_adjusted_t"]
    for end, end_of_large in zip(plain.interval, shifted.interval, strict=True):
        assert end_of_large - 1e12 == pytest.approx(end, abs=0.001)


def test_an_end_is_not_a_negative_zero() -> None:
    values = np.array([[-0.0], [-0.0], [-0.0], [0.5], [0.6]])
    result = found(values)
    assert result.interval.low[0] == 0
    assert not np.signbit(result.interval.low[0])


def test_the_rule_of_three() -> None:
    basis = Independence(np.array([1000]), np.array([1000.0]), np.array([999.0]))
    low, high = no_variation_interval(np.array([0.0]), basis, UNIT)
    assert low[0] == 0
    assert high[0] == pytest.approx(3 / 1000, rel=0.01)


def test_a_column_does_not_depend_on_other_columns() -> None:
    generator = np.random.default_rng(11)
    codes = generator.integers(0, 40, size=500)
    values = np.round(generator.random((500, 7)), 3)
    values[:, 1] = values[:, 1] > 0.3
    values[:, 2] = 0.1
    for groups in (None, codes):
        together = found(values, groups)
        for column in range(7):
            alone = found(values[:, [column]], groups)
            assert alone.methods == [together.methods[column]]
            assert alone.std_error[0] == together.std_error[column]
            assert alone.interval.low[0] == together.interval.low[column]
            assert alone.interval.high[0] == together.interval.high[column]


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
