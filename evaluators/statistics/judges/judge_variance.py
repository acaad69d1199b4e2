"""Judge variance: the part of the variance of judgments that is due to the judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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


def _flip_rate(verdicts: Floats, there: Booleans) -> float:
    """Return the mean, over the answers, of the share of pairs of repeats that differ."""
    both = there[:, :, None] & there[:, None, :]
    differ = both & (verdicts[:, :, None] != verdicts[:, None, :])
    # The matrix has each pair twice; a repeat does not differ from itself.
    pairs = both.sum(axis=(1, 2)) - there.sum(axis=1)
    return float((differ.sum(axis=(1, 2)) / pairs).mean())
