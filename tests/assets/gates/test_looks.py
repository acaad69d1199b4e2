"""What counts as a look of a sequential gate, and when its test starts over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assets.gates.gains import PairedScores
from assets.gates.looks import Look, next_look
from evaluators.metric import Metric

SCORE = Metric(name="score", summary="A score.")


def scores(gains: dict[int, float], sizes: dict[int, int] | None = None) -> PairedScores:
    """Return scores with the gain of each cluster, whose questions are all alike."""
    sizes = sizes or {}
    keys = [key for key in gains for _ in range(sizes.get(key, 1))]
    values = np.array([[0.5 + gains[key], 0.5] for key in keys])
    return PairedScores(values, np.array(keys, dtype=np.uint64), SCORE)


def looked(*nights: PairedScores) -> Look:
    """Return the last of several looks."""
    look = None
    for night in nights:
        look = next_look(look, night)
    assert look is not None
    return look


FIRST = {5: 0.1, 3: -0.2, 9: 0.0}


def test_the_first_look() -> None:
    look = looked(scores(FIRST))
    assert (look.look, look.epoch, look.first, look.largest) == (1, 1, 3, 1)
    assert look.clusters.tolist() == [3, 5, 9]
    assert look.sums.tolist() == pytest.approx([-0.2, 0.1, 0.0])


def test_unchanged_scores_are_no_look() -> None:
    before = looked(scores(FIRST))
    assert next_look(before, scores(dict(reversed(FIRST.items())))) is before


def test_new_questions_follow_the_earlier_ones() -> None:
    look = looked(scores(FIRST), scores(FIRST | {1: 0.3}), scores(FIRST | {1: 0.3, 0: 0.4}))
    assert (look.look, look.epoch, look.first) == (3, 1, 3)
    assert look.clusters.tolist() == [3, 5, 9, 1, 0]
    assert look.sums.tolist() == pytest.approx([-0.2, 0.1, 0.0, 0.3, 0.4])


@pytest.mark.parametrize(
    "later",
    [
        FIRST | {5: 0.2},  # answered again
        {5: 0.1, 3: -0.2},  # removed
        {5: 0.1, 3: -0.2, 8: 0.0},  # replaced
        FIRST | {9: 0.1, 11: 0.3},  # changed beside a new question
    ],
)
def test_a_changed_question_starts_the_test_over(later: dict[int, float]) -> None:
    look = looked(scores(FIRST), scores(later))
    assert (look.look, look.epoch, look.first) == (2, 2, len(later))
    assert sorted(look.clusters.tolist()) == sorted(later)


def test_former_scores_do_not_return_to_the_first_epoch() -> None:
    changed = scores(FIRST | {5: 0.2})
    assert looked(scores(FIRST), changed, scores(FIRST)).epoch == 3


def test_a_question_in_an_old_cluster_starts_the_test_over() -> None:
    look = looked(scores(FIRST, {9: 2}), scores(FIRST, {9: 3}))
    assert (look.look, look.epoch, look.largest) == (2, 2, 4)


def test_clusters_have_a_reserve() -> None:
    before = scores(FIRST, {9: 3})
    grown: Any = FIRST | {11: 0.1}
    assert looked(before).largest == 4
    assert looked(before, scores(grown, {9: 3, 11: 4})).epoch == 1
    larger = looked(before, scores(grown, {9: 3, 11: 5}))
    assert (larger.epoch, larger.largest) == (2, 8)
