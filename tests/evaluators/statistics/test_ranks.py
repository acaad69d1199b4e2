"""Rank intervals: against scipy's ranks, and where chance or certainty decides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from evaluators.statistics.bootstrap import resampled_means
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.ranks import RankInterval, rank_intervals, ranks


def held(values: np.ndarray, best: str = "high") -> RankInterval:
    data = sum_by_cluster(values, Groups(np.arange(len(values))))
    return rank_intervals(data.means, resampled_means(data), best)


@given(arrays.arrays(float, (5, 4), elements=st.integers(0, 3).map(float)))
def test_ranks_are_those_of_scipy(numbers: np.ndarray) -> None:
    assert (ranks(numbers) == stats.rankdata(numbers, method="min", axis=1)).all()


def test_what_is_certain_has_one_place() -> None:
    noise = np.random.default_rng(1).random((200, 1)) / 100
    low, high = held(noise + np.array([0.1, 0.9, 0.5]))
    assert low.tolist() == high.tolist() == [3, 1, 2]
    low, high = held(noise + np.array([0.1, 0.9, 0.5]), best="low")
    assert low.tolist() == high.tolist() == [1, 3, 2]


def test_what_is_chance_may_have_any_place() -> None:
    low, high = held(np.random.default_rng(2).random((100, 4)))
    assert low.min() == 1
    assert high.max() == 4
    assert (high - low >= 1).all()


def test_difficulty_that_systems_share_is_no_uncertainty() -> None:
    generator = np.random.default_rng(3)
    hard = generator.random((60, 1))
    alone, shared = generator.random((60, 2)), np.hstack([hard, hard + 0.01])
    assert np.ptp(held(alone)) >= 1
    low, high = held(shared)
    assert low.tolist() == high.tolist() == [2, 1]


def test_equal_systems_share_the_first_place() -> None:
    column = np.random.default_rng(4).random((50, 1))
    low, high = held(np.hstack([column, column, column]))
    assert low.tolist() == high.tolist() == [1, 1, 1]


def test_a_system_without_a_mean_takes_no_part() -> None:
    values = np.random.default_rng(5).random((50, 3)) + np.array([0, 5, 1])
    values[:, 2] = np.nan
    assert held(values).low.tolist() == [2, 1, 0]
    assert held(values).high.tolist() == [2, 1, 0]
    assert held(values * np.nan).low.tolist() == [0, 0, 0]


@given(arrays.arrays(float, (12, 5), elements=st.floats(0, 1)))
def test_the_own_place_lies_within(values: np.ndarray) -> None:
    low, high = held(values)
    own = stats.rankdata(-np.round(values.mean(axis=0), 9), method="min")
    assert (low <= own).all()
    assert (high >= own).all()
    assert low.min() == 1
    assert high.max() <= 5
