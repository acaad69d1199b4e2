"""Calibration: estimates of the mean human label from a judge and a few labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats
    from evaluators.statistics.judges.agreement import Confusion

_TWO = 2


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean corrected by labels.

    Attributes:
        mean: The corrected mean.
        variance: The variance of the corrected mean, with the uncertainty of the labels.
        low: The lower end of the interval.
        high: The upper end.
        weight: The weight of the judge's numbers (lambda); 1 unless tuned.
    """

    mean: float
    variance: float
    low: float
    high: float
    weight: float = 1.0


def rogan_gladen(share: float, n: int, found: Confusion) -> Corrected | None:
    """Estimate the true share of passes from the judge's share and its error rates.

    Args:
        share: The judge's share of passes.
        n: The number of samples.
        found: The confusion of judge and human labels on the labelled samples.

    Returns:
        None if the human labels have no pass or no failure, or if the judge is no better than
        chance (sensitivity + specificity <= 1).

    Source: Rogan and Gladen 1978; variance as in arXiv 2511.21140.
    """
    sensitivity, specificity = found.sensitivity, found.specificity
    if sensitivity is None or specificity is None or sensitivity + specificity <= 1:
        return None
    youden = sensitivity + specificity - 1
    passed, failed = (found.true_pass + found.false_fail), (found.true_fail + found.false_pass)
    # A share below the judge's false positive rate gives an estimate of 0.
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
    """Estimate the mean human label from a few human labels and many of the judge's numbers.

    The estimate is the judge's mean over the samples without labels, plus its mean error on the
    labelled ones. It is unbiased even for a bad judge if the labelled samples were chosen at
    random. If tuned, the judge's numbers have the weight between 0 and 1 that minimises the
    variance.

    Args:
        judged: The judge's numbers for samples without a label; may be empty.
        labelled: The judge's numbers for labelled samples.
        labels: The human labels of these samples.
        tuned: Whether to weight the judge's numbers (PPI++); otherwise the weight is 1.

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
    """Return the lambda of the least variance; 0 if all the judge's numbers are equal."""
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
