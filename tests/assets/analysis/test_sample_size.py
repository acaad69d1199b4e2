"""How many questions a difference takes, from score matrices."""

from __future__ import annotations

import numpy as np
import pytest

from assets.analysis.sample_size import AnswerVariance, SampleSize, _plan
from assets.leaderboard.score_matrix import QuestionIndex, ScoreMatrices
from evaluators.metric import Metric
from tests.support.services import takes_minutes

METRIC = Metric(name="f1", summary="Made up.")
EMPTY = SampleSize(benchmark="b", metric="e.f1")


def planned(
    values: np.ndarray,
    difference: float = 0.02,
    systems: tuple[str, ...] = (),
    size: int = 1,
    variances: dict[str, AnswerVariance] | None = None,
) -> SampleSize:
    count = len(values)
    keys = np.arange(count, dtype=np.uint64)
    clusters = keys // np.uint64(size)
    index = QuestionIndex(keys, clusters) if size > 1 else QuestionIndex(keys[:0], keys[:0])
    names = ["a", "b", "c"][: values.shape[1]]
    matrices = ScoreMatrices(names, keys, {"f1": values})
    return _plan(EMPTY, matrices, index, METRIC, difference, systems, variances or {})


def scores(count: int, seed: int = 1) -> np.ndarray:
    """Of three systems, the last differs the most from the others."""
    generator = np.random.default_rng(seed)
    level = generator.random((count, 1)) / 2
    return level + generator.random((count, 3)) * [0.1, 0.1, 0.5]


def test_the_pair_with_the_largest_spread_needs_the_most() -> None:
    values = scores(100)
    found = planned(values)
    spread = (values[:, 0] - values[:, 2]).std(ddof=1)
    assert found.pairs == 3
    assert {"c"} < {found.system_a, found.system_b}
    # Three pairs: the level is 0.05 / 3, so that the quantiles are 2.39 and 0.84. An unseen
    # question may lose 1.
    n = found.needed
    by_hand = (1 + 2.39 * np.sqrt(n * spread**2 + 1)) / n + 0.84 * spread / np.sqrt(n)
    assert by_hand == pytest.approx(0.02, rel=0.05)
    assert n > ((2.39 + 0.84) * spread / 0.02) ** 2
    assert found.more == found.needed - 100
    assert found.needed_median == pytest.approx(found.needed, rel=0.2)


def test_systems_choose_the_pairs() -> None:
    values = scores(100)
    found = planned(values, systems=("a", "b"))
    assert (found.pairs, found.system_a, found.system_b) == (1, "a", "b")
    assert found.needed < planned(values).needed / 2
    assert planned(values, systems=("c",)).pairs == 2


def test_enough_questions_need_no_more() -> None:
    assert planned(scores(100), difference=0.5).more == 0


def test_questions_of_a_cluster_add_less() -> None:
    values = np.repeat(scores(50), 4, axis=0)
    together = planned(values, size=4)
    assert (together.questions, together.clusters) == (200, 50)
    assert together.needed == pytest.approx(4 * planned(scores(50)).needed, rel=0.02)
    assert together.needed > 3 * planned(values).needed


@pytest.mark.parametrize(
    ("values", "difference", "missing"),
    [
        (scores(50)[:, :1], 0.1, "scores of two systems"),
        (scores(1), 0.1, "a second question"),
        (np.full((50, 2), 0.1), 0.1, "all differences seen so far are equal"),
        (np.where(np.eye(2) > 0, np.nan, 0.5), 0.1, "questions with scores of both systems"),
        (scores(50), 1.5, "the largest possible difference is 1"),
        (scores(50), 1e-7, "this one takes over a billion questions"),
    ],
)
def test_what_is_missing_is_named(values: np.ndarray, difference: float, missing: str) -> None:
    found = planned(values, difference)
    assert missing in str(found.missing)
    assert found.needed is None
    assert found.more is None


def test_one_more_answer_is_worth_some_questions() -> None:
    """Of the variance 0.04 of a difference, two answers of each system contribute 0.02.

    With three answers it is 0.02 + 2/3 * 0.02; as small is that of 1.2 times as many questions.
    """
    level, differences = scores(100)[:, :1], np.random.default_rng(2).normal(size=100)
    differences *= 0.2 / differences.std(ddof=1)
    values = np.hstack([level, level + differences[:, None]])
    found = planned(values, variances=dict.fromkeys("ab", AnswerVariance(0.02, 2.0)))
    assert (found.answers, found.worth) == (2, 20)
    assert planned(values, variances={"a": AnswerVariance(0.02, 2.0)}).worth is None
    assert planned(values).worth is None


def test_a_pilot_of_eight_questions_gives_a_range() -> None:
    """The spread of eight differences may be 0.66 to 2.04 times what is seen (chi-square, 7)."""
    few, many = planned(scores(8)), planned(scores(400))
    assert few.needed_low is not None and few.needed_high is not None  # noqa: PT018
    assert few.needed_low < few.needed < few.needed_high
    assert few.needed_high / few.needed > 2
    assert many.needed_high / many.needed < 1.3


@takes_minutes
def test_the_range_holds_the_needed_number_in_most_pilots() -> None:
    """Normal differences with a spread of 0.2, eight questions each."""
    truth = planned(normal_scores(200_000, 0)).needed
    held = 0
    for seed in range(60):
        found = planned(normal_scores(8, seed + 1))
        held += found.needed_low <= truth <= (found.needed_high or np.inf)
    # 95 % of 60 is 57, with a standard deviation of 1.7.
    assert held >= 52


def normal_scores(count: int, seed: int) -> np.ndarray:
    """Of two systems whose differences have a spread of 0.2."""
    difference = np.random.default_rng(seed).normal(0, 0.2, count)
    return np.stack([0.5 + difference / 2, 0.5 - difference / 2], axis=1).clip(0, 1)
