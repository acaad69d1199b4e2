"""Rank sets: all true ranks lie within them at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import Outcomes, compare, every_pair
from evaluators.statistics.ranks import RankSets, rank_sets
from tests.support.services import takes_minutes


def found(values: np.ndarray, best: str = "high") -> RankSets:
    pairs = every_pair(values.shape[1])
    compared = compare(values, Groups(), pairs, best=best, pass_fail=False)
    return rank_sets(compared.outcomes, np.isfinite(values).any(axis=0))


def test_what_is_certain_has_one_rank() -> None:
    noise = np.random.default_rng(1).random((200, 3)) / 100
    low, high = found(noise + np.array([0.1, 0.9, 0.5]))
    assert low.tolist() == high.tolist() == [3, 1, 2]
    low, high = found(noise + np.array([0.1, 0.9, 0.5]), best="low")
    assert low.tolist() == high.tolist() == [1, 3, 2]


def test_equal_systems_may_have_any_rank() -> None:
    column = np.random.default_rng(4).random((50, 1))
    low, high = found(np.hstack([column, column, column]))
    assert (low.tolist(), high.tolist()) == ([1, 1, 1], [3, 3, 3])


def test_difficulty_that_systems_share_is_no_uncertainty() -> None:
    generator = np.random.default_rng(3)
    hard, noise = generator.random((60, 1)), generator.normal(0, 0.01, (60, 2))
    values = hard + noise + np.array([0.0, 0.1])
    low, high = found(values)
    assert low.tolist() == high.tolist() == [2, 1]
    # Other questions for each: the difference is a quarter of the spread.
    values[:, 0] = generator.permuted(values[:, 0])
    assert found(values).low.tolist() == [1, 1]


def test_a_system_without_a_mean_is_left_out() -> None:
    values = np.random.default_rng(5).random((50, 3)) + np.array([0, 5, 1])
    values[:, 2] = np.nan
    assert found(values).low.tolist() == [2, 1, 0]
    assert found(values).high.tolist() == [2, 1, 0]
    assert found(values * np.nan).low.tolist() == [0, 0, 0]


@given(arrays.arrays(float, (12, 5), elements=st.floats(0, 1)))
def test_the_rank_by_the_mean_lies_within(values: np.ndarray) -> None:
    low, high = found(values)
    rank = stats.rankdata(-np.round(values.mean(axis=0), 9), method="min")
    assert (low <= rank).all()
    assert (high >= rank).all()
    assert low.min() == 1
    assert high.max() <= 5


@takes_minutes
def test_all_ranks_are_covered_at_once() -> None:
    generator = np.random.default_rng(6)
    truth = np.arange(10, 0, -1)
    covered = never_first = 0
    for _ in range(40):
        level = generator.random((50, 1))
        low, high = found(level + 0.005 * truth + generator.normal(0, 0.1, (50, 10)))
        rank = np.arange(1, 11)
        covered += bool(((low <= rank) & (rank <= high)).all())
        equal = found(level + generator.normal(0, 0.1, (50, 10)))
        never_first += bool((equal.low > 1).any())
    assert covered >= 38
    assert never_first <= 6


def test_a_chain_of_verdicts_makes_the_sets_consistent() -> None:
    """A beats B and B beats C, but A and C share too few questions."""
    pairs = every_pair(3)
    outcomes = Outcomes(pairs, np.array([50, 2, 50]), np.ones(3), np.array([1, 0, 1]))
    everyone = np.ones(3, dtype=bool)
    low, high = rank_sets(outcomes, everyone)
    assert (low.tolist(), high.tolist()) == ([1, 2, 3], [1, 2, 3])


def test_verdicts_in_a_circle_decide_no_ranks() -> None:
    """A beats B, B beats C, C beats A, on other questions each; D loses to all."""
    pairs = every_pair(4)
    signs = np.array([1, -1, 1, 1, 1, 1])
    outcomes = Outcomes(pairs, np.full(6, 50), np.ones(6), signs)
    low, high = rank_sets(outcomes, np.ones(4, dtype=bool))
    assert (low.tolist(), high.tolist()) == ([1, 1, 1, 4], [3, 3, 3, 4])


def test_families_are_ranked_separately() -> None:
    outcomes = Outcomes(
        every_pair(2, 3), np.full(3, 50), np.ones(3), np.array([1, 0, -1], dtype=np.int64)
    )
    low, high = rank_sets(outcomes, np.ones(6, dtype=bool), 3)
    assert low.tolist() == [1, 2, 1, 1, 2, 1]
    assert high.tolist() == [1, 2, 2, 2, 2, 1]
