"""Interactions of slices with systems, and shrunken means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.meta_analysis import combine_effects

from evaluators.statistics.clusters import Groups
from evaluators.statistics.slices import interaction_p, shrunken_means


def test_the_interaction_is_tested_by_welch() -> None:
    generator = np.random.default_rng(1)
    values = np.concatenate([generator.normal(0, 2, size=20), generator.normal(1, 1, size=90)])
    is_on_slice = np.arange(110) < 20
    expected = stats.ttest_ind(values[is_on_slice], values[~is_on_slice], equal_var=False)
    assert interaction_p(values[:, None], is_on_slice, Groups()) == pytest.approx(expected.pvalue)


def test_a_side_with_little_variation_is_taken_to_vary_like_the_other() -> None:
    generator = np.random.default_rng(2)
    values = np.concatenate([np.zeros(5), generator.normal(0.5, 1, size=60)])
    is_on_slice = np.arange(65) < 5
    pooled = stats.ttest_ind(values[is_on_slice], values[~is_on_slice], equal_var=True)
    p = interaction_p(values[:, None], is_on_slice, Groups())
    assert p == pytest.approx(pooled.pvalue)


def test_clusters_on_both_sides_are_compared_with_themselves() -> None:
    generator = np.random.default_rng(3)
    codes = np.repeat(np.arange(60), 6)
    is_on_slice = np.tile([True, False, False, True, False, False], 60)
    values = generator.normal(0, 1, size=60)[codes] + generator.normal(0, 0.5, size=360)
    on, rest = (values[side].reshape(60, -1).mean(axis=1) for side in (is_on_slice, ~is_on_slice))
    p = interaction_p(values[:, None], is_on_slice, Groups(codes))
    assert p == pytest.approx(stats.ttest_rel(on, rest).pvalue)


@pytest.mark.parametrize("sizes", [(1, 30), (0, 30), (30, 1)])
def test_one_question_on_a_side_shows_nothing(sizes: tuple[int, int]) -> None:
    values = np.random.default_rng(4).random((sum(sizes), 2))
    is_on_slice = np.arange(sum(sizes)) < sizes[0]
    assert interaction_p(values, is_on_slice, Groups()).tolist() == [1, 1]


def test_equal_differences_show_nothing() -> None:
    values = np.full((20, 1), 0.3)
    assert interaction_p(values, np.arange(20) < 8, Groups()).tolist() == [1]


def test_equal_slices_shrink_to_the_overall_mean() -> None:
    generator = np.random.default_rng(5)
    means = generator.normal(0.7, 0.1, size=40)
    shrunken = shrunken_means(means, np.full(40, 0.1**2), 0.7)
    assert np.abs(shrunken - 0.7).max() < np.abs(means - 0.7).max() / 3


def test_the_variance_between_slices_is_that_of_statsmodels() -> None:
    generator = np.random.default_rng(6)
    variances = generator.uniform(0.01, 0.04, size=12) ** 2
    means = generator.normal(0.6, 0.1, size=12) + generator.normal(0, np.sqrt(variances))
    between = combine_effects(means, variances, method_re="dl").tau2
    expected = 0.6 + between / (between + variances) * (means - 0.6)
    assert shrunken_means(means, variances, 0.6) == pytest.approx(expected)
    # The slices differ: their means hardly change.
    assert shrunken_means(means, variances, 0.6) == pytest.approx(means, abs=0.05)
