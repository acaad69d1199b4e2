"""Whole pages of pure noise: how many have a false mark, a false problem, or a false change."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulations.pages import (
    false_changes,
    false_first_page,
    false_high,
    false_marks,
)


def test_pages_with_many_slices_have_hardly_any_false_mark() -> None:
    found = np.array([false_marks(8, 29, 100, seed) for seed in range(12)])
    # Each test alone: mostly a false mark a page. Of 12 pages at 5 %, 4 are rarely reached.
    assert (found[:, 0] > 0).sum() >= 6
    assert (found[:, 1] > 0).sum() <= 3


@pytest.mark.parametrize(("n", "mean"), [(3, 0.95), (50, 0.9), (400, 0.9)])
def test_thresholds_at_the_truth_are_rarely_missed(n: int, mean: float) -> None:
    draw = np.random.default_rng(n)
    every = [
        false_high(
            (draw.random((n, 24)) < mean).astype(np.float64), mean, passes=True, statements=3
        )
        for _ in range(60)
    ]
    before, now = zip(*every, strict=True)
    assert sum(before) >= 12
    assert sum(now) <= 8


def test_many_nights_without_a_change_show_none() -> None:
    found = [false_changes(1, 60, seed, statements=2) for seed in range(20)]
    before, now = zip(*found, strict=True)
    assert sum(before) >= 10
    assert sum(now) <= 4


def test_many_metrics_without_a_change_show_none() -> None:
    found = [false_changes(20, 1, seed, statements=40) for seed in range(40)]
    before, now = zip(*found, strict=True)
    assert sum(before) >= 8
    assert sum(now) <= 6


def test_first_pages_of_noise_say_nothing_false() -> None:
    found = [any(false_first_page(5, seed)) for seed in range(30)]
    assert sum(found) <= 5
