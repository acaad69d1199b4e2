"""Slices that reverse an order by chance, and those that do so for a reason."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from assets.leaderboard.metric_slice import MetricSlice
from assets.leaderboard.slice_statistics import SliceStatistics
from assets.leaderboard.slices import Interactions, add_shrunken_means
from evaluators.metric import Metric
from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import BETTER, WORSE

METRIC = Metric(name="score", summary="Made up.")


def part(values: np.ndarray, name: str, rows: np.ndarray | None = None) -> SliceStatistics:
    slice_ = MetricSlice(
        benchmark="made_up",
        name=name,
        evaluator="made_up",
        metric=METRIC,
        systems=["a", "b"],
        rows=rows,
    )
    return SliceStatistics(
        slices=[slice_],
        values=values if rows is None else values[rows],
        groups=Groups(),
        pass_fail=np.ones(2, dtype=np.bool_),
    )


def reversals(values: np.ndarray, size: int) -> tuple[int, pl.DataFrame]:
    """Return how many slices reverse the order significantly, and the adjusted interactions."""
    overall, interactions, significant = part(values, "all"), Interactions(), 0
    for start in range(0, len(values), size):
        each = part(values, f"slice={start}", np.arange(start, start + size))
        interactions.add({overall.slices[0].key: overall}, each)
        differs = np.sign(each.stored.difference) == -np.sign(overall.stored.difference)
        significant += bool(differs[0] and each.stored.verdict[0] in (BETTER, WORSE))
    assert interactions.tests == {"made_up": len(values) / size}
    return significant, interactions.adjusted()


def test_chance_reverses_no_order() -> None:
    alone = beyond = 0
    for seed in range(30):
        draw = np.random.default_rng(seed)
        level = draw.beta(4, 2, size=(40 * 25, 1))
        values = (draw.random((40 * 25, 2)) < level).astype(np.float64)
        significant, adjusted = reversals(values, 25)
        alone += significant > 0
        beyond += bool((adjusted["p_interaction"] < 0.05).any())
    # A significant difference on one of forty slices is no news.
    assert alone > 8
    assert beyond <= 3


def test_a_reversed_order_is_found() -> None:
    draw = np.random.default_rng(1)
    values = (draw.random((400, 2)) < [0.8, 0.6]).astype(np.float64)
    values[:100, 0] = draw.random(100) < 0.3
    _, adjusted = reversals(values, 100)
    assert adjusted.select("slice", "system_a", "system_b").rows() == [("slice=0", "a", "b")]
    assert adjusted["p_interaction"][0] < 0.001


def test_means_of_slices_are_shrunken_within_their_tag() -> None:
    rows = pl.DataFrame(
        {
            "benchmark": ["b"] * 8,
            "slice": ["all", *(f"day={at}" for at in range(6)), "kind=x"],
            "system": ["s"] * 8,
            "evaluator": ["e"] * 8,
            "metric": ["m"] * 8,
            "mean": [0.7, 0.5, 0.6, 0.7, 0.7, 0.8, 0.9, 0.2],
            "std_error": [0.05, *[0.1] * 6, 0.0],
            "effective_clusters": [60.0, *[10.0] * 6, 5.0],
        }
    )
    found = add_shrunken_means(rows)
    assert found.drop("shrunken_mean").equals(rows)
    shrunken = found["shrunken_mean"].to_list()
    # The variance between the days, 0.02, is 0.005 more than noise gives: (0.05 ** 2) * 60 / 10.
    assert shrunken[1:7] == pytest.approx([0.65, 0.675, 0.7, 0.7, 0.725, 0.75])
    assert shrunken[0] is shrunken[7] is None
