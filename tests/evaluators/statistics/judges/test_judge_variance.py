"""Judge variance: the two parts compared with known ones, and flips computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evaluators.statistics.judges.judge_variance import split_variance


def test_the_two_variances_are_separated() -> None:
    generator = np.random.default_rng(1)
    answers = generator.normal(0, 2, size=(4000, 1))
    found = split_variance(answers + generator.normal(0, 0.5, size=(4000, 3)))
    assert found is not None
    assert found.judge_variance == pytest.approx(0.25, rel=0.05)
    assert found.answer_variance == pytest.approx(4, rel=0.1)
    assert found.reliability == pytest.approx(4 / 4.25, rel=0.01)


def test_the_mean_squares_are_those_of_an_analysis_of_variance() -> None:
    judged = np.random.default_rng(2).normal(size=(12, 4))
    found = split_variance(judged)
    assert found is not None
    f = stats.f_oneway(*judged).statistic
    assert found.answer_variance == pytest.approx(found.judge_variance * (f - 1) / 4)


def test_flips_by_hand() -> None:
    nan = np.nan
    judged = np.array([[1.0, 1, 0], [1, 1, 1], [0, 0, nan], [1, nan, nan]])
    found = split_variance(judged)
    assert found is not None
    # Two of three pairs differ, none of three, none of one; the last answer was judged once.
    assert found.answers == 3
    assert found.flip_rate == pytest.approx((2 / 3 + 0 + 0) / 3)


def test_a_threshold_makes_verdicts_of_numbers() -> None:
    judged = np.array([[4.0, 5.0], [2.0, 3.0], [3.0, 4.0]])
    for threshold, flips in ((None, 1.0), (3.5, 1 / 3), (1.0, 0.0)):
        found = split_variance(judged, threshold)
        assert found is not None
        assert found.flip_rate == pytest.approx(flips)


def test_what_lies_on_the_threshold_passes_whichever_end_is_good() -> None:
    judged = np.array([[0.5, 0.75], [0.25, 0.5]])
    # High: the first answer passes twice, the second once. Low: the other way round.
    for best, flips in (("high", [0, 1]), ("low", [1, 0])):
        for answer, flip in zip(judged, flips, strict=True):
            found = split_variance(np.stack([answer, answer]), 0.5, best)
            assert found is not None
            assert found.flip_rate == flip


def test_answers_that_differ_less_than_the_judge_wobbles() -> None:
    found = split_variance(np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert found is not None
    assert found.answer_variance < 0
    assert found.reliability == 0


def test_what_was_judged_once_tells_nothing() -> None:
    assert split_variance(np.array([[1.0, np.nan], [0.0, np.nan]])) is None
    same = split_variance(np.ones((3, 2)))
    assert same is not None
    assert same.reliability is None
