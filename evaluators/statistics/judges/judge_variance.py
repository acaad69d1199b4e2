"""Judge variance: the part of the variance of judgments and of scores that is due to the judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats

_TWO = 2


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The variance of repeated judgments, split by source.

    Attributes:
        answers: The number of answers that were judged at least twice.
        judge_variance: The variance between judgments of the same answer.
        answer_variance: The variance between answers without the judge's part; an estimate below 0
            means that there is none.
        flip_rate: The share of pairs of judgments of one answer that differ or, with a threshold,
            that lie on different sides of it.
    """

    answers: int
    judge_variance: float
    answer_variance: float
    flip_rate: float

    @property
    def reliability(self) -> float | None:
        """The share of the answers in the variance of one judgment (ICC 1)."""
        whole = self.judge_variance + max(0.0, self.answer_variance)
        return max(0.0, self.answer_variance) / whole if whole > 0 else None


def split_variance(
    judged: Floats, threshold: float | None = None, best: Literal["high", "low"] = "high"
) -> VarianceComponents | None:
    """Split the variance of repeated judgments of the same answers.

    Args:
        judged: Shape (answers, repeats); NaN where a repeat failed.
        threshold: The value at which an answer passes; None: any difference is a flip.
        best: Whether high or low numbers are better; a number equal to the threshold passes.

    Returns:
        None where fewer than two answers were judged at least twice.

    Source: the variance components of one-way analysis of variance with random effects.
    """
    repeated = judged[np.isfinite(judged).sum(axis=1) >= _TWO]
    if len(repeated) < _TWO:
        return None
    there = np.isfinite(repeated)
    repeats = there.sum(axis=1)
    n, answers = int(repeats.sum()), len(repeated)
    means = np.nansum(repeated, axis=1) / repeats
    grand = float(np.nansum(repeated)) / n
    within = float(np.nansum((repeated - means[:, None]) ** 2)) / (n - answers)
    between = float((repeats * (means - grand) ** 2).sum()) / (answers - 1)
    size = (n - float((repeats**2).sum()) / n) / (answers - 1)
    verdicts = repeated
    if threshold is not None:
        passes = repeated >= threshold if best == "high" else repeated <= threshold
        verdicts = np.where(there, passes, np.nan)
    return VarianceComponents(
        answers, within, (between - within) / size, _flip_rate(verdicts, there)
    )


class ScoreVariance(NamedTuple):
    """The variance of the scores of single answers, split by source; the parts add up to it.

    Attributes:
        questions: The number of questions with two or more scored answers.
        answers: The number of their scored answers.
        question: The variance between questions.
        answer: The variance between answers to the same question, by what the judge gives each of
            them on average.
        judge: The rest; None unless answers were judged several times.
        judgments: The mean number of judgments of an answer; None like `judge`.
    """

    questions: int
    answers: int
    question: float
    answer: float
    judge: float | None = None
    judgments: float | None = None


def split_score_variance(scores: Floats, judged: Floats | None = None) -> ScoreVariance | None:
    """Split the variance of scores of several answers to each of many questions.

    Scores combine repeated judgments, by their median, their mean or otherwise. The variance
    between answers follows from the judgments themselves: the variance of their means within a
    question, less the variance of a mean of so many judgments. Both are unbiased whatever the
    numbers of judgments and their distribution. What the variance of the scores within questions
    exceeds it by is due to the judge, however judgments are combined.

    Args:
        scores: Shape (questions, answers); NaN where there is none.
        judged: Shape (questions, answers, judgments): the judgments behind the scores, NaN where
            there is none; None if answers were judged once.

    Returns:
        None where fewer than two questions have two scored answers.
    """
    found = split_variance(scores)
    if found is None:
        return None
    is_used = np.isfinite(scores)
    is_used[is_used.sum(axis=1) < _TWO] = False
    parts = ScoreVariance(
        found.answers, int(is_used.sum()), found.answer_variance, found.judge_variance
    )
    if judged is None:
        return parts
    given = np.where(is_used[..., None], judged, np.nan)
    repeats = np.isfinite(given).sum(axis=2)
    is_repeated = repeats >= _TWO
    is_repeated[is_repeated.sum(axis=1) < _TWO] = False
    if not is_repeated.any():
        return parts
    answers = is_repeated.sum(axis=1)
    several = answers > 0
    means, noise = np.full((2, *scores.shape), np.nan)
    means[is_repeated] = np.nanmean(given[is_repeated], axis=1)
    noise[is_repeated] = np.nanvar(given[is_repeated], axis=1, ddof=1) / repeats[is_repeated]
    between = np.nanvar(means[several], axis=1, ddof=1) - np.nanmean(noise[several], axis=1)
    answer = float(np.average(between, weights=answers[several] - 1))
    return parts._replace(
        answer=answer,
        judge=found.judge_variance - answer,
        judgments=float(repeats[is_repeated].mean()),
    )


def _flip_rate(verdicts: Floats, there: Booleans) -> float:
    """Return the mean, over the answers, of the share of pairs of repeats that differ."""
    both = there[:, :, None] & there[:, None, :]
    differ = both & (verdicts[:, :, None] != verdicts[:, None, :])
    # The matrix has each pair twice; a repeat does not differ from itself.
    pairs = both.sum(axis=(1, 2)) - there.sum(axis=1)
    return float((differ.sum(axis=(1, 2)) / pairs).mean())
