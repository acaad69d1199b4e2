"""Errors and degrees of freedom of unequal clusters, against brute force and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.linear_model import WLS

from evaluators.statistics.clusters import Groups, sum_by_cluster

SIZES = np.array([1, 2, 3, 5, 8, 20, 45])
CODES = np.repeat(np.arange(len(SIZES)), SIZES)


def scores(columns: int = 3) -> np.ndarray:
    """Return scores of questions that share the level of their cluster."""
    draw = np.random.default_rng(11)
    level = draw.normal(0, 1, size=(len(SIZES), columns))
    return level[CODES] + draw.normal(0, 1, size=(len(CODES), columns))


def test_the_covariance_is_that_of_the_jackknife() -> None:
    values = scores()
    data = sum_by_cluster(values, Groups(CODES))
    left_out = np.array([values[code != CODES].mean(axis=0) for code in range(len(SIZES))])
    change = left_out - values.mean(axis=0)
    expected = (len(SIZES) - 1) / len(SIZES) * change.T @ change
    assert data.residuals.T @ data.residuals == pytest.approx(expected)
    assert data.std_errors == pytest.approx(np.sqrt(np.diag(expected)))


def test_unequal_clusters_have_the_errors_of_statsmodels() -> None:
    # A mean of clusters, weighted by their sizes, with the errors HC3.
    values = scores(1)[:, 0]
    means = np.array([values[code == CODES].mean() for code in range(len(SIZES))])
    fit = WLS(means, np.ones(len(SIZES)), weights=SIZES).fit()
    expected = fit.get_robustcov_results("HC3").bse[0] * np.sqrt(1 - 1 / len(SIZES))
    assert sum_by_cluster(values[:, None], Groups(CODES)).std_errors == pytest.approx([expected])


def test_degrees_of_freedom_are_satterthwaites() -> None:
    data = sum_by_cluster(scores(), Groups(CODES))
    n = len(CODES)
    # The variance estimate is a quadratic form: the residuals' covariance times weights.
    covariance = np.diag(SIZES) - np.outer(SIZES, SIZES) / n
    form = np.diag(1.0 / (n - SIZES) ** 2) @ covariance
    expected = np.trace(form) ** 2 / np.trace(form @ form)
    assert data.degrees_of_freedom == pytest.approx([expected] * 3)
    assert expected < len(SIZES) - 1


def test_degrees_of_freedom_are_those_of_the_simulated_variance() -> None:
    draw = np.random.default_rng(12)
    data = sum_by_cluster(draw.normal(0, 1, size=(len(CODES), 20_000)), Groups(CODES))
    variances = data.std_errors**2
    simulated = 2 * variances.mean() ** 2 / variances.var()
    assert data.degrees_of_freedom[0] == pytest.approx(simulated, rel=0.1)


@pytest.mark.parametrize(("clusters", "size"), [(2, 1), (2, 7), (9, 1), (9, 7)])
def test_equal_clusters_lose_one_degree_of_freedom(clusters: int, size: int) -> None:
    values = np.random.default_rng(13).random((clusters * size, 2))
    data = sum_by_cluster(values, Groups(np.repeat(np.arange(clusters), size)))
    assert data.degrees_of_freedom.tolist() == [clusters - 1] * 2
    assert data.effective_clusters.tolist() == [clusters] * 2


def test_effective_clusters_are_fewer_where_one_is_large() -> None:
    data = sum_by_cluster(scores(1), Groups(CODES))
    assert data.effective_clusters == pytest.approx([84**2 / (SIZES**2).sum()])


def test_columns_have_the_clusters_that_they_have_numbers_of() -> None:
    values = scores()
    values[CODES == 6, 1] = np.nan
    values[:, 2] = np.nan
    values[0, 2] = 0.5
    data = sum_by_cluster(values, Groups(CODES))
    alone = sum_by_cluster(values[CODES != 6][:, [1]], Groups(CODES[CODES != 6]))
    assert data.degrees_of_freedom[1] == pytest.approx(alone.degrees_of_freedom[0])
    assert data.std_errors[1] == pytest.approx(alone.std_errors[0])
    assert data.degrees_of_freedom[2] == 0
    assert np.isnan(data.std_errors[2])
    assert data.residuals[:, 2].tolist() == [0.0] * len(SIZES)
