"""Wobble: how much of the spread of a judge's numbers is the judge's own, and not the answers'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats

_TWO = 2


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The variance of repeated judgements, split in two.

    Attributes:
        answers: The samples that were judged at least twice.
        judge_variance: Between judgements of the same answer.
        answer_variance: Between answers, the judge's own taken away; may be below 0 where answers
            differ by less than the judge wobbles: then read it as none.
        flip_rate: The share of pairs of judgements of one answer that differ; with a threshold,
            that fall on different sides of it.
    """

    answers: int
    judge_variance: float
    answer_variance: float
    flip_rate: float

    @property
    def reliability(self) -> float | None:
        """The share of the variance of one judgement that is the answers' (ICC 1)."""
        whole = self.judge_variance + max(0.0, self.answer_variance)
        return max(0.0, self.answer_variance) / whole if whole > 0 else None


def split_variance(
    judged: Floats, threshold: float | None = None, best: Literal["high", "low"] = "high"
) -> VarianceComponents | None:
    """Split the variance of repeated judgements of the same answers.

    Args:
        judged: Shape (answers, repeats); NaN where a repeat failed.
        threshold: The line that makes a pass of a number; null: any difference is a flip.
        best: Which numbers are better; what lies on the line passes in either case.

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
    """The mean over the answers of the share of their pairs of repeats that differ."""
    both = there[:, :, None] & there[:, None, :]
    differ = both & (verdicts[:, :, None] != verdicts[:, None, :])
    # Each pair stands twice in the square; a repeat does not differ from itself.
    pairs = both.sum(axis=(1, 2)) - there.sum(axis=1)
    return float((differ.sum(axis=(1, 2)) / pairs).mean())
