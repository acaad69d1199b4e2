"""Judge variance: the two parts compared with known ones, and flips computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evaluators.statistics.judges.judge_variance import split_score_variance, split_variance


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


def test_the_parts_of_a_score_by_hand() -> None:
    nan = np.nan
    # Two questions of two answers, judged thrice and twice; scores are medians.
    judged = np.array(
        [
            [[1.0, 2.0, 6.0], [4.0, 4.0, 4.0]],
            [[0.0, 2.0, nan], [1.0, 3.0, nan]],
        ]
    )
    scores = np.array([[2.0, 4.0], [1.0, 2.0]])
    found = split_score_variance(scores, judged)
    assert found is not None
    # Within: ((2 - 3)^2 + (4 - 3)^2) and 2 * 0.5^2 over one degree of freedom each.
    within = (2.0 + 0.5) / 2
    # Means 3 and 4, variance 0.5, less the mean of 7/3 and 0; 1 and 2, less the mean of 1 and 1.
    answer = ((0.5 - 7 / 6) + (0.5 - 1.0)) / 2
    assert found.answer == pytest.approx(answer)
    assert found.judge == pytest.approx(within - answer)
    # Between: means 3 and 1.5, variance 9/8.
    assert found.question == pytest.approx(9 / 8 - within / 2)
    assert (found.questions, found.answers, found.judgments) == (2, 4, 2.5)


def test_a_lost_score_and_a_lost_judgment_are_left_out() -> None:
    nan = np.nan
    judged = np.array([[[1.0, 2.0], [4.0, 4.0], [nan, 9.0]], [[0.0, 2.0], [1.0, 3.0], [5.0, nan]]])
    scores = np.array([[1.5, 4.0, nan], [1.0, 2.0, 5.0]])
    found = split_score_variance(scores, judged)
    assert found is not None
    assert (found.questions, found.answers, found.judgments) == (2, 5, 2.0)
    # 1.5 and 4, less the mean of 0.25 and 0; 1 and 2, less the mean of 1 and 1.
    answer = ((2.5**2 / 2 - 0.125) + (0.5 - 1.0)) / 2
    assert found.answer == pytest.approx(answer)
    once = split_score_variance(scores, judged[..., :1])
    assert once is not None
    assert (once.judge, once.judgments) == (None, None)
    assert split_score_variance(scores[:1]) is None


@pytest.mark.parametrize("noise", ["normal", "exponential", "pass/fail"])
@pytest.mark.parametrize("combined", ["median", "mean"])
@pytest.mark.parametrize("counts", [(3, 3), (3, 5)])
@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_the_parts_add_up_and_the_judge_is_no_answer(
    noise: str, combined: str, counts: tuple[int, int], spread: float
) -> None:
    generator = np.random.default_rng(3)
    shape = (3000, 4)
    level = generator.uniform(0.3, 0.7, (shape[0], 1)) + generator.choice([-spread, spread], shape)
    size = max(counts)
    if noise == "pass/fail":
        judged = (generator.random((*shape, size)) < level[..., None]).astype(float)
    else:
        drawn = generator.normal if noise == "normal" else generator.exponential
        judged = level[..., None] + 0.3 * drawn(size=(*shape, size))
    fewer = generator.random(shape) < 0.5
    judged[fewer, min(counts) :] = np.nan
    judged[..., 1:][generator.random((*shape, size - 1)) < 0.05] = np.nan
    scores = (np.nanmedian if combined == "median" else np.nanmean)(judged, axis=2)
    found = split_score_variance(scores, judged)
    assert found is not None
    assert found.judge is not None
    whole = float(scores.var(ddof=1))
    assert found.question + found.answer + found.judge == pytest.approx(whole, rel=0.02)
    assert found.answer == pytest.approx(spread**2, abs=0.003)
    # The judge's part is that of the score, not of a single judgment.
    within = scores - scores.mean(axis=1, keepdims=True)
    assert found.judge == pytest.approx((within**2).sum() / (3 * shape[0]) - spread**2, abs=0.004)
