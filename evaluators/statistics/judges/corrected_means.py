"""Corrected means: estimates of the mean human label from a judge and a few labels.

All functions take the samples of one system. A label is NaN where there is none; where annotators
disagree, it is their mean. Labels that were drawn with different probabilities have weights, the
inverse of these: estimates are then those of Hajek (1971).
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE
from evaluators.statistics.clusters import effective_clusters
from evaluators.statistics.judges.few_labels import (
    ADDED,
    CORNERS,
    design_effect,
    number_clusters,
    scale_weights,
    t_factor,
)

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers

_TWO = 2
_FOLDS = 5
_ROUNDING = 1e-9
_ONE_CLUSTER = "no interval: all labels are in one cluster"
_OUTSIDE = "no interval: it is outside the bounds"

TUNED_FROM = 30
"""With fewer independent labels than this, the judge's weight is 1: an estimate adds a bias."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A mean corrected by labels; what has no value is None.

    Attributes:
        mean: The corrected mean.
        low: The lower end of its 95 % interval.
        high: The upper end.
        weight: The weight of the judge's numbers (lambda).
        reason: Why the mean or the interval has no value.
    """

    mean: float | None = None
    low: float | None = None
    high: float | None = None
    weight: float | None = None
    reason: str | None = None


def prediction_powered(
    scores: Floats,
    labels: Floats,
    clusters: Integers | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    weights: Floats | None = None,
) -> Corrected:
    """Estimate the mean human label from a few human labels and many of the judge's numbers.

    The estimate is the judge's mean over the samples without labels, plus its mean error on the
    labelled ones. It is unbiased even for a bad judge if the labelled samples were chosen at
    random. If they were drawn with unequal probabilities, the judge's mean is that over all
    samples, because those without labels are not a random choice either.

    From `TUNED_FROM` independent labels on, the judge's numbers have the weight that minimises the
    variance, estimated from the other clusters (cross-fitting).

    The interval is that of the delete-a-cluster jackknife and Student's t. On a scale with two
    bounds, half a label for each corner of the scale is added; see `few_labels`.

    Args:
        scores: The judge's numbers, shape (samples,).
        labels: The human labels, of the same shape and on the same scale.
        clusters: The cluster of each sample; None: each is its own.
        bounds: The bounds of the metric.
        weights: The weight of each label, on any scale; None: all are equal.

    Source: Angelopoulos and others 2023, arXiv 2301.09633 and (with weights) 2311.01453.
    """
    is_labelled = np.isfinite(labels)
    if is_labelled.sum() < _TWO:
        return Corrected(reason="corrected from two labels on")
    codes = number_clusters(clusters, len(scores))
    case = np.zeros(len(scores))
    case[is_labelled] = _case_weights(is_labelled, weights)
    is_weighted = bool(np.ptp(case[is_labelled]) > 0)
    sums = _sum_by_cluster(scores, labels, case, codes, is_weighted=is_weighted)
    weights_of_judge = _weights(sums, is_constant=bool(np.ptp(labels[is_labelled]) == 0))
    n, rest = sums.labelled.sum(), sums.unlabelled.sum()
    weight = float((weights_of_judge * sums.labelled).sum() / n)
    judged_mean = float(sums.judged.sum() / rest) if weight else 0.0
    errors = sums.labels - weights_of_judge * (sums.scores - sums.labelled * judged_mean)
    mean = float(errors.sum() / n)
    if np.count_nonzero(sums.labelled) < _TWO:
        return _within_bounds(Corrected(mean, weight=weight, reason=_ONE_CLUSTER), bounds)

    effective = float(effective_clusters(sums.labelled))
    size, corners = 0.0, np.zeros(len(CORNERS))
    if np.isfinite(bounds).all():
        single = (labels - weights_of_judge[codes] * (scores - judged_mean))[is_labelled] - mean
        spread = float(((case[is_labelled] * single) ** 2).sum())
        scale = (bounds[1] - bounds[0]) ** 2 * n
        squares = float(((errors - mean * sums.labelled) ** 2).sum())
        size = design_effect(squares, spread if spread > _ROUNDING * scale else 0.0, n / effective)
        judge, human = bounds[0] + (bounds[1] - bounds[0]) * np.array(CORNERS).T
        corners = human - weight * (judge - judged_mean)
    whole = n + ADDED * size * len(CORNERS)
    middle = (float(errors.sum()) + ADDED * size * float(corners.sum())) / whole
    # How the estimate changes without each cluster.
    changes = (errors - middle * sums.labelled) / (whole - sums.labelled)
    if weight:
        changes += weight * (sums.judged - judged_mean * sums.unlabelled) / (rest - sums.unlabelled)
    count = len(sums.labelled)
    variance = float((changes**2).sum()) * (count - 1) / count
    variance += ADDED * float(((size * (corners - middle)) ** 2).sum()) / (whole - size) ** 2
    if variance <= 0:
        no_spread = "no interval: the labels show no spread, and the scale has no bounds"
        return Corrected(mean, weight=weight, reason=no_spread)
    half = t_factor(effective, size * effective / n) * variance**0.5
    return _within_bounds(Corrected(mean, middle - half, middle + half, weight), bounds)


def rogan_gladen(
    verdicts: Floats,
    labels: Floats,
    clusters: Integers | None = None,
    weights: Floats | None = None,
) -> Corrected:
    """Estimate the true share of ones from the judge's share and its error rates.

    Assumes that the judge's error rates are the same on the labelled and on the other samples of
    the system: so it is if labels were drawn at random, or weighted, or chosen by what people think
    of the samples, but not if they were chosen by the judge's verdict. There is no estimate if the
    labels have only one class, or if the judge is no better than chance on them (sensitivity +
    specificity <= 1).

    The interval adds one right and one wrong verdict to each class. With clusters, or annotators
    who disagree, numbers of samples are divided by the design effect of the estimate.

    Args:
        verdicts: The judge's verdicts, 0 or 1, shape (samples,).
        labels: The human labels, of the same shape: the share of annotators who say 1. The parts of
            a sample belong to both classes.
        clusters: The cluster of each sample; None: each is its own.
        weights: The weight of each label, on any scale; None: all are equal.

    Source: Rogan and Gladen 1978; Lang and Reiczigel 2014 for the interval.
    """
    is_labelled = np.isfinite(labels)
    if not is_labelled.any():
        return Corrected(reason="no labels of this system")
    case = np.zeros(len(labels))
    case[is_labelled] = _case_weights(is_labelled, weights)
    people = np.where(is_labelled, labels, 0.0)
    ones, zeros = case * people, case * (1 - people)
    if not ones.any() or not zeros.any():
        return Corrected(reason=f"all labels of this system are {1 if ones.any() else 0}")
    share = Share(float(verdicts.mean()), len(verdicts))
    sensitivity, specificity = _weighted_share(verdicts, ones), _weighted_share(1 - verdicts, zeros)
    youden = sensitivity.value + specificity.value - 1
    if youden <= 0:
        return Corrected(reason="the judge is no better than chance on the labels of this system")
    mean = (share.value + specificity.value - 1) / youden
    codes = number_clusters(clusters, len(labels))
    sizes = np.bincount(codes, case).astype(np.float64)
    count = np.count_nonzero(sizes)
    if count < _TWO:
        return _within_bounds(Corrected(mean, reason=_ONE_CLUSTER), (0.0, 1.0))
    true_share = min(1.0, max(0.0, mean))
    # The influence of each sample on the estimate, times Youden's index.
    influence = (verdicts - share.value) / share.n
    influence -= true_share * ones * (verdicts - sensitivity.value) / ones.sum()
    influence += (1 - true_share) * zeros * (1 - verdicts - specificity.value) / zeros.sum()
    clustered = float((np.bincount(codes, influence) ** 2).sum()) * count / (count - 1)
    independent = (
        share.variance
        + true_share**2 * sensitivity.variance
        + (1 - true_share) ** 2 * specificity.variance
    )
    effective, counted = float(effective_clusters(sizes)), sensitivity.n + specificity.n
    effect = 1.0
    if effective < counted - _ROUNDING:
        effect = design_effect(clustered, independent, counted / effective)
        effect *= (t_factor(effective) / t_factor(counted)) ** 2
    ends = lang_reiczigel(
        *(Share(each.value, each.n / effect) for each in (share, sensitivity, specificity))
    )
    if ends is None:
        return _within_bounds(Corrected(mean, 0.0, 1.0), (0.0, 1.0))
    return _within_bounds(Corrected(mean, *ends), (0.0, 1.0))


def _case_weights(is_labelled: Booleans, weights: Floats | None) -> Floats:
    """Return the scaled weights of the labels."""
    if weights is None:
        return np.ones(int(is_labelled.sum()))
    return scale_weights(weights[is_labelled])


def _weighted_share(values: Floats, weights: Floats) -> Share:
    """Return the mean of values of 0 and 1, and how many equally weighted ones it is worth."""
    whole = float(weights.sum())
    return Share(float((weights * values).sum()) / whole, whole**2 / float((weights**2).sum()))


class Share(NamedTuple):
    """An observed share, and the effective number of samples that it is a share of."""

    value: float
    n: float

    @property
    def variance(self) -> float:
        """The binomial variance."""
        return self.value * (1 - self.value) / self.n


def lang_reiczigel(
    share: Share, sensitivity: Share, specificity: Share
) -> tuple[float, float] | None:
    """Return the ends of the interval of a corrected pass rate; they may lie outside 0 to 1.

    Args:
        share: The judge's share of passes.
        sensitivity: The judge's share of passes among human passes.
        specificity: The judge's share of failures among human failures.

    Returns:
        None if sensitivity + specificity, with the added verdicts, are not above 1: then nothing
        is excluded.

    Source: Lang and Reiczigel, "Confidence limits for prevalence of disease adjusted for estimated
    sensitivity and specificity", 2014.
    """
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    share = Share((share.n * share.value + z**2 / 2) / (share.n + z**2), share.n + z**2)
    sensitivity, specificity = (
        Share((each.n * each.value + 1) / (each.n + 2), each.n + 2)
        for each in (sensitivity, specificity)
    )
    youden = sensitivity.value + specificity.value - 1
    if youden <= 0:
        return None
    true_share = (share.value + specificity.value - 1) / youden
    shift = true_share * sensitivity.variance - (1 - true_share) * specificity.variance
    variance = (
        share.variance
        + true_share**2 * sensitivity.variance
        + (1 - true_share) ** 2 * specificity.variance
    )
    middle, half = true_share + 2 * z**2 * shift, z * variance**0.5 / youden
    return middle - half, middle + half


class _Sums(NamedTuple):
    """Sums by cluster, each of shape (clusters,).

    Attributes:
        labelled: The number of labelled samples, or their weight.
        labels: The sum of their labels.
        scores: The sum of the judge's numbers for them.
        unlabelled: The number of other samples; with unequal weights, of all samples.
        judged: The sum of the judge's numbers for these.
    """

    labelled: Floats
    labels: Floats
    scores: Floats
    unlabelled: Floats
    judged: Floats


def _sum_by_cluster(
    scores: Floats, labels: Floats, case: Floats, codes: Integers, *, is_weighted: bool
) -> _Sums:
    count = int(codes.max()) + 1
    is_labelled = case > 0
    is_other = np.ones_like(is_labelled) if is_weighted else ~is_labelled

    def total(values: Floats) -> Floats:
        return np.bincount(codes, values, count).astype(np.float64)

    return _Sums(
        total(case),
        total(case * np.where(is_labelled, labels, 0.0)),
        total(case * scores),
        total(is_other.astype(np.float64)),
        total(is_other * scores),
    )


def _weights(sums: _Sums, *, is_constant: bool) -> Floats:
    """Return the weight of the judge's numbers for the labels of each cluster.

    Equal labels show no relation to the judge's numbers and say nothing about their weight.
    """
    clusters = len(sums.labelled)
    if np.count_nonzero(sums.unlabelled) < _TWO:
        return np.zeros(clusters)
    if is_constant or float(effective_clusters(sums.labelled)) < TUNED_FROM:
        return np.ones(clusters)
    fold = np.empty(clusters, dtype=np.int64)
    has_labels = sums.labelled > 0
    for own in (has_labels, ~has_labels):
        fold[own] = np.arange(np.count_nonzero(own)) % _FOLDS
    by_fold = [
        _best_weight(_Sums(*(each[fold != left_out] for each in sums)))
        for left_out in range(_FOLDS)
    ]
    return np.array(by_fold)[fold]


def _best_weight(sums: _Sums) -> float:
    """Return the weight of the least variance, between 0 and 1; 0 if the judge's numbers are equal.

    It is the regression of the mean label on the difference of the judge's means, over clusters.
    """
    n, rest = sums.labelled.sum(), sums.unlabelled.sum()
    if not rest:
        return 0.0
    means = (each.sum() / n for each in (sums.labels, sums.scores))
    label, labelled = (
        (each - mean * sums.labelled) / n
        for each, mean in zip((sums.labels, sums.scores), means, strict=True)
    )
    unlabelled = (sums.judged - sums.judged.sum() / rest * sums.unlabelled) / rest
    difference = labelled - unlabelled
    spread = float((difference**2).sum())
    return min(1.0, max(0.0, float((label * difference).sum()) / spread)) if spread > 0 else 0.0


def _within_bounds(found: Corrected, bounds: tuple[float, float]) -> Corrected:
    """Cut an interval at the bounds; leave out a mean or an interval that lies outside.

    A mean outside says that labels and scores contradict each other by chance. To move it to the
    bound would bias it, and it is not a possible value.
    """
    mean, low, high, reason = found.mean, found.low, found.high, found.reason
    slack = _ROUNDING * (abs(mean or 0.0) + 1)
    if mean is not None and not bounds[0] - slack <= mean <= bounds[1] + slack:
        reason = f"the estimate {mean:.3f} is outside the bounds {bounds[0]:g} to {bounds[1]:g}"
        mean = None
    elif mean is not None:  # rounding errors
        mean = min(bounds[1], max(bounds[0], mean))
    if low is not None and high is not None:
        low, high = max(bounds[0], low), min(bounds[1], high)
        if low > high:
            low = high = None
            reason = f"{reason}, with its interval" if reason else _OUTSIDE
    return Corrected(mean, low, high, found.weight, reason)
