"""Rank sets and ties of a leaderboard, from score matrices."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.leaderboard.metric_slice import MetricSlice
from assets.leaderboard.ranking import reconcile_ranks
from assets.leaderboard.slice_statistics import SliceStatistics
from evaluators.metric import Metric
from evaluators.statistics.clusters import Groups


def ranked(values: np.ndarray, *, clusters: np.ndarray | None = None) -> pl.DataFrame:
    slice_ = MetricSlice(
        benchmark="b",
        name="all",
        evaluator="made_up",
        metric=Metric(name="f1", summary="Made up."),
        systems=[f"s{at}" for at in range(values.shape[1])],
    )
    each = SliceStatistics(
        slices=[slice_],
        values=values,
        groups=Groups(clusters),
        pass_fail=np.zeros(values.shape[1], dtype=bool),
    )
    means = pl.Series("mean", np.nanmean(values, axis=0))
    rows = each.uncertainty("skew_adjusted_t").with_columns(means)
    rank = pl.col("mean").rank("min", descending=True).cast(pl.Int32)
    return reconcile_ranks(rows.with_columns(rank=rank))


@pytest.mark.parametrize("clusters", [None, np.zeros(1, dtype=int)])
def test_a_single_question_has_no_rank_set(clusters: np.ndarray | None) -> None:
    rows = ranked(np.array([[0.9, 0.1]]), clusters=clusters)
    assert rows["rank"].to_list() == [1, 2]
    assert rows["rank_low"].to_list() == rows["rank_high"].to_list() == [None, None]
    assert rows["tied_with_best"].to_list() == [1, None]


def test_questions_of_one_cluster_have_no_rank_set() -> None:
    values = np.random.default_rng(1).random((30, 2)) / 2 + [0.5, 0.0]
    rows = ranked(values, clusters=np.zeros(30, dtype=int))
    assert rows["rank_low"].to_list() == [None, None]
    assert ranked(values)["rank_low"].to_list() == [1, 2]


def test_a_tie_with_the_best_may_be_the_first() -> None:
    generator = np.random.default_rng(2)
    for _ in range(20):
        level = generator.random((30, 1)) / 2
        noise = generator.normal(0, [0.01, 0.02, 0.3, 0.05, 0.2], (30, 5))
        rows = ranked(np.clip(level + noise + [0.1, 0.11, 0.12, 0.09, 0.0], 0, 1))
        assert (rows["rank_low"] <= rows["rank"]).all()
        assert (rows["rank"] <= rows["rank_high"]).all()
        assert rows["tied_with_best"].to_list() == (rows["rank_low"] == 1).to_list()


def test_a_system_with_one_question_widens_the_sets_of_others() -> None:
    values = np.random.default_rng(3).random((40, 3)) / 10 + [0.9, 0.5, 0.1]
    values[1:, 2] = np.nan
    rows = ranked(np.clip(values, 0, 1))
    assert rows["rank_low"].to_list() == [1, 2, None]
    assert rows["rank_high"].to_list() == [2, 3, None]
