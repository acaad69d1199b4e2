"""Calibration: what people would have given on average, told from a judge and a few labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE

if TYPE_CHECKING:
    from evaluators.statistics.agreement import Confusion
    from evaluators.statistics.arrays import Floats

_TWO = 2


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean corrected by labels.

    Attributes:
        mean: The corrected mean.
        variance: Of the corrected mean, with the uncertainty of the labels.
        low: The lower end of the interval.
        high: The upper end.
        weight: How much the judge's numbers count (lambda); 1 but where it was tuned.
    """

    mean: float
    variance: float
    low: float
    high: float
    weight: float = 1.0


def rogan_gladen(share: float, n: int, found: Confusion) -> Corrected | None:
    """The true share of passes behind a judge's share, given how often it errs.

    Args:
        share: The share that the judge passes.
        n: Of how many samples.
        found: The judge against people on the labelled samples.

    Returns:
        None where people passed or failed no labelled sample, or where the judge is no better than
        chance (sensitivity + specificity <= 1): then nothing can be told from it.

    Source: Rogan and Gladen 1978; variance as in arXiv 2511.21140.
    """
    sensitivity, specificity = found.sensitivity, found.specificity
    if sensitivity is None or specificity is None or sensitivity + specificity <= 1:
        return None
    youden = sensitivity + specificity - 1
    passed, failed = (found.true_pass + found.false_fail), (found.true_fail + found.false_pass)
    # A share below what the judge's errors alone would give says 0; it cannot say less.
    mean = min(1.0, max(0.0, (share + specificity - 1) / youden))
    variance = (
        share * (1 - share) / n
        + (1 - mean) ** 2 * specificity * (1 - specificity) / failed
        + mean**2 * sensitivity * (1 - sensitivity) / passed
    ) / youden**2
    low, high = _normal(mean, variance)
    return Corrected(mean, variance, max(0.0, low), min(1.0, high))


def prediction_powered(
    judged: Floats, labelled: Floats, labels: Floats, *, tuned: bool = True
) -> Corrected | None:
    """The mean of people's numbers, from a few of them and many of the judge's.

    The judge's mean over the samples without labels, plus the mean error that the labels show:
    unbiased however bad the judge is, as long as the labelled samples were chosen by chance. Tuned,
    the judge's numbers count by the weight between 0 and 1 that makes the variance least.

    Args:
        judged: The judge's numbers of the samples without a label; may be empty.
        labelled: The judge's numbers of the samples with one.
        labels: People's numbers of the same samples.
        tuned: Whether to weigh the judge's numbers (PPI++); otherwise they count in full.

    Returns:
        None for fewer than two labels.

    Source: Angelopoulos and others 2023, arXiv 2301.09633 and (tuned) 2311.01453.
    """
    n, rest = len(labels), len(judged)
    if n < _TWO:
        return None
    weight = 0.0 if rest < _TWO else _weight(judged, labelled, labels) if tuned else 1.0
    errors = labels - weight * labelled
    mean, variance = float(errors.mean()), float(errors.var(ddof=1)) / n
    if weight:
        mean += weight * float(judged.mean())
        variance += weight**2 * float(judged.var(ddof=1)) / rest
    low, high = _normal(mean, variance)
    return Corrected(mean, variance, low, high, weight)


def _weight(judged: Floats, labelled: Floats, labels: Floats) -> float:
    """The lambda of the least variance; 0 where the judge says the same of everything."""
    n, rest = len(labels), len(judged)
    spread = float(np.concatenate([labelled, judged]).var(ddof=1))
    if spread == 0:
        return 0.0
    shared = float(np.cov(labels, labelled, ddof=1)[0, 1])
    return min(1.0, max(0.0, shared / ((1 + n / rest) * spread)))


def _normal(mean: float, variance: float) -> tuple[float, float]:
    from scipy.special import ndtri

    half = float(ndtri(0.5 + CONFIDENCE / 2)) * variance**0.5
    return mean - half, mean + half
