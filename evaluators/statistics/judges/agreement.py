"""Agreement of two raters, such as a judge and a human: confusion, and Cohen's kappa."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from evaluators.statistics.arrays import DRAWS, SEED
from evaluators.statistics.clusters import effective_clusters
from evaluators.statistics.judges.few_labels import (
    ADDED,
    CORNERS,
    design_effect,
    number_clusters,
    t_factor,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluators.statistics.arrays import Floats, Integers

Weights: TypeAlias = Literal["none", "linear", "quadratic"]

CALIBRATED = 0.4
"""A judge is calibrated if the interval of kappa with human labels lies above: moderate agreement.

Source: Fleiss 1981, "fair to good" from 0.4."""

MIN_LABELS = 20
"""A judge is calibrated by at least this many labels."""

_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class Confusion:
    """The confusion of a judge's passes and failures with human labels, which count as right.

    Numbers of samples. Where annotators disagree, a sample counts in parts; see `confusion`.

    Attributes:
        true_pass: Passed by both.
        false_pass: Passed by the judge, failed by humans.
        false_fail: Failed by the judge, passed by humans.
        true_fail: Failed by both.
    """

    true_pass: float
    false_pass: float
    false_fail: float
    true_fail: float

    @property
    def n(self) -> float:
        """The number of samples that both have rated."""
        return self.true_pass + self.false_pass + self.false_fail + self.true_fail

    @property
    def agreement(self) -> float | None:
        """The share of samples on which both agree."""
        return _share(self.true_pass + self.true_fail, self.n)

    @property
    def sensitivity(self) -> float | None:
        """The share of human passes that the judge passes too (the true positive rate)."""
        return _share(self.true_pass, self.true_pass + self.false_fail)

    @property
    def specificity(self) -> float | None:
        """The share of human failures that the judge fails too (the true negative rate)."""
        return _share(self.true_fail, self.true_fail + self.false_pass)

    @property
    def base_rate(self) -> float | None:
        """The share of human passes; near 0 or 1, kappa means little."""
        return _share(self.true_pass + self.false_fail, self.n)

    @property
    def constant_agreement(self) -> float | None:
        """The agreement of a judge that always gives the more frequent human label."""
        return None if self.base_rate is None else max(self.base_rate, 1 - self.base_rate)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None if both give all samples the same label."""
        table = [[self.true_pass, self.false_pass], [self.false_fail, self.true_fail]]
        kappa = float(kappas(np.array([table], dtype=np.float64))[0])
        return kappa if np.isfinite(kappa) else None


class Kappa(NamedTuple):
    """Cohen's kappa with its 95 % interval; NaN if it has no value."""

    value: float
    low: float
    high: float


def confusion(
    judge: NDArray[np.bool_], people: NDArray[np.bool_] | Floats, weights: Floats | None = None
) -> Confusion:
    """Count the passes and failures of a judge and of humans, sample by sample.

    Args:
        judge: Whether the judge passes each sample.
        people: The share of annotators who pass it: their verdicts count in equal parts.
        weights: How many samples each one stands for, scaled as by `scale_weights`; None: one.
    """
    passed = people.astype(np.float64)
    weight = np.ones(len(passed)) if weights is None else weights
    return Confusion(
        true_pass=float((weight * judge * passed).sum()),
        false_pass=float((weight * judge * (1 - passed)).sum()),
        false_fail=float((weight * ~judge * passed).sum()),
        true_fail=float((weight * ~judge * (1 - passed)).sum()),
    )


def kappa(
    one: Floats,
    other: Floats,
    weights: Weights = "none",
    clusters: Integers | None = None,
) -> Kappa:
    """Return Cohen's kappa of two raters with its interval; see `kappa_of_tables`.

    Args:
        one: The ratings of one rater.
        other: The ratings of the other, for the same samples.
        weights: The weights of disagreements: `none` for categories, `linear` or `quadratic` for
            ratings, by the distance of their ranks among all ratings that occur.
        clusters: The cluster of each sample; None: each is its own.

    Source: Cohen 1960 and 1968.
    """
    samples = np.arange(len(one))
    return kappa_of_tables(rating_tables(one, other, samples), weights, clusters)


def rating_tables(
    one: Floats, other: Floats, samples: Integers, weights: Floats | None = None
) -> Floats:
    """Return a table of ratings for each sample.

    Args:
        one: The rating of the sample by one rater, repeated for each rating of the others.
        other: The ratings of the others.
        samples: The sample of each rating, from 0 without gaps.
        weights: The weight of each rating; None: 1.

    Returns:
        Shape (samples, ratings, ratings): rows for the one, columns for the others.
    """
    categories, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
    tables = np.zeros((int(samples.max(initial=-1)) + 1, len(categories), len(categories)))
    cells = (samples, codes[: len(one)], codes[len(one) :])
    np.add.at(tables, cells, 1.0 if weights is None else weights)
    return tables


def kappa_of_tables(
    tables: Floats, weights: Weights = "none", clusters: Integers | None = None
) -> Kappa:
    """Return Cohen's kappa, with a 95 % interval that holds for few samples.

    The interval is that of the Bayesian bootstrap over clusters: each draw weights the clusters at
    random. Each draw also gives a random weight to combinations of ratings that were not seen,
    half a sample to each of pass/fail; see `few_labels`. For independent samples these are draws
    from the posterior with Jeffreys' prior. If no ratings differ, the upper end is 1.

    Args:
        tables: Shape (samples, ratings, ratings): the table of each sample. Its sum is the weight
            of the sample, scaled as by `scale_weights`.
        weights: See `kappa`.
        clusters: The cluster of each sample; None: each is its own.

    Returns:
        NaN for kappa if all ratings are equal; NaN for the interval of a single cluster, or if one
        rater gives all samples the same rating.

    Source: Rubin 1981 for the bootstrap.
    """
    if not len(tables):
        return Kappa(np.nan, np.nan, np.nan)
    size = tables.shape[-1]
    whole = tables.sum(axis=0)
    value = float(kappas(whole[None], weights)[0])
    single = tables.reshape(len(tables), size * size)
    groups = number_clusters(clusters, len(tables))
    counts = np.zeros((int(groups.max()) + 1, size * size))
    np.add.at(counts, groups, single)
    # A rater who gives one rating makes kappa 0, however often the other agrees.
    ratings = [np.count_nonzero(whole.sum(axis=axis)) for axis in (0, 1)]
    if len(counts) == 1 or min(ratings) == 1:
        return Kappa(value, np.nan, np.nan)
    effective = float(effective_clusters(counts.sum(axis=1)))
    unseen = _unseen_size(single, counts, weights)
    spread = kappas(_draw_tables(counts, unseen).reshape(-1, size, size), weights)
    added = unseen * effective / float(whole.sum())
    # Draws of few clusters vary too little, except as far as the added labels vary.
    expansion = math.sqrt((effective + 1) / (effective - 1 + 2 * added))
    tail = NormalDist().cdf(-expansion * t_factor(effective, added))
    low, high = np.quantile(spread, [tail, 1 - tail])
    differs = whole.sum() > np.trace(whole)
    return Kappa(value, float(low), float(high) if differs else 1.0)


def _added_labels(cells: int) -> float:
    """Return the labels added for each cell of a table of ratings, two in all."""
    return ADDED * len(CORNERS) / cells


def _unseen_size(single: Floats, counts: Floats, weights: Weights) -> float:
    """Return how many labels of clusters are worth an independent one: kappa's design effect.

    It compares the jackknife's variances over clusters and over samples.

    Args:
        single: The tables of the samples, shape (samples, cells).
        counts: The tables of the clusters, shape (clusters, cells).
        weights: See `kappa`.
    """
    sizes = counts.sum(axis=1)
    clusters, cells = counts.shape
    if clusters == len(single):
        return 1.0
    table = counts.sum(axis=0) + _added_labels(cells)
    shape = (-1, math.isqrt(cells), math.isqrt(cells))
    whole = kappas(table.reshape(shape), weights)
    kinds, numbers = np.unique(single, axis=0, return_counts=True)
    alone = kappas((table - kinds).reshape(shape), weights)
    together = kappas((table - counts).reshape(shape), weights)
    independent = float((numbers * (alone - whole) ** 2).sum())
    clustered = float(((together - whole) ** 2).sum()) * clusters / (clusters - 1)
    return design_effect(clustered, independent, float(sizes.sum() / effective_clusters(sizes)))


def _draw_tables(counts: Floats, unseen: float) -> Floats:
    """Return random tables of counts, shape (draws, cells), from those of clusters.

    Args:
        counts: Shape (clusters, cells).
        unseen: The size of an added label.
    """
    generator = np.random.default_rng(SEED)
    clusters, cells = counts.shape
    added = _added_labels(cells)
    if np.count_nonzero(counts) == np.count_nonzero(counts == 1) == clusters:
        return generator.standard_gamma(counts.sum(axis=0) + added, (DRAWS, cells))
    drawn = unseen * generator.standard_gamma(added, (DRAWS, cells))
    step = max(1, _CHUNK // clusters)
    for start in range(0, DRAWS, step):
        part = drawn[start : start + step]
        part += generator.standard_exponential((len(part), clusters)) @ counts
    return drawn


def count_labels_needed(found: Confusion, agreed: Kappa) -> int | None:
    """Return about how many more labels a judge needs to count as calibrated.

    Labels with unequal weights count as the number of equal ones with the same information. A judge
    is calibrated if `MIN_LABELS` or more labels of both classes give a kappa whose interval lies
    above `CALIBRATED`. The estimate assumes that kappa stays as it is and that the interval
    shrinks with the root of the number of labels.

    Returns:
        0 if it is calibrated; None if more labels would not suffice, because kappa is too low or
        because the labels have only one class.
    """
    missing = max(0, math.ceil(round(MIN_LABELS - found.n, 6)))
    has_both = found.sensitivity is not None and found.specificity is not None
    if not has_both or not agreed.value > CALIBRATED:
        return missing or None
    if not np.isfinite(agreed.low):
        return missing or MIN_LABELS
    if agreed.low > CALIBRATED:
        return missing
    ratio = (agreed.value - agreed.low) / (agreed.value - CALIBRATED)
    needed = found.n * (ratio**2 - 1)
    # Two significant digits.
    unit = int(10 ** max(0, math.floor(math.log10(max(1.0, needed))) - 1))
    return max(missing, math.ceil(needed / unit) * unit, 1)


def kappas(tables: Floats, weights: Weights = "none") -> Floats:
    """Return Cohen's kappa of each table of counts: 1 - observed / expected disagreement.

    Args:
        tables: Shape (tables, ratings, ratings).
        weights: See `kappa`.

    Returns:
        Shape (tables,); NaN if the expected disagreement is 0.
    """
    size = tables.shape[-1]
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(np.float64)
    cost = {"none": (distance > 0) * 1.0, "linear": distance, "quadratic": distance**2}[weights]
    n = tables.sum(axis=(1, 2))
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    observed = np.einsum("tij,ij->t", tables, cost)
    expected = np.einsum("ti,ij,tj->t", rows, cost, columns)
    nothing = np.full(len(tables), np.nan)
    disagreement = np.divide(observed * n, expected, out=nothing, where=expected > 0)
    found: Floats = 1.0 - disagreement
    return found


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
