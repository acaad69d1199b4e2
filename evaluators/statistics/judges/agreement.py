"""Agreement of two raters, such as a judge and a human: confusion, and Cohen's kappa."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from evaluators.statistics.arrays import CONFIDENCE
from evaluators.statistics.bootstrap import cluster_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluators.statistics.arrays import Floats, Integers

Weights: TypeAlias = Literal["none", "linear", "quadratic"]


@dataclass(frozen=True, slots=True)
class Confusion:
    """The confusion of a judge's passes and failures with human labels, which count as right.

    Attributes:
        true_pass: Passed by both.
        false_pass: Passed by the judge, failed by humans.
        false_fail: Failed by the judge, passed by humans.
        true_fail: Failed by both.
    """

    true_pass: int
    false_pass: int
    false_fail: int
    true_fail: int

    @property
    def n(self) -> int:
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
    """Cohen's kappa with its bootstrap interval; NaN if it has no value."""

    value: float
    low: float
    high: float


def confusion(judge: NDArray[np.bool_], people: NDArray[np.bool_]) -> Confusion:
    """Count the passes and failures of a judge and of humans, sample by sample."""
    return Confusion(
        true_pass=int((judge & people).sum()),
        false_pass=int((judge & ~people).sum()),
        false_fail=int((~judge & people).sum()),
        true_fail=int((~judge & ~people).sum()),
    )


def kappa(
    one: Floats,
    other: Floats,
    weights: Weights = "none",
    clusters: Integers | None = None,
) -> Kappa:
    """Return Cohen's kappa of two raters, with the percentile interval of the cluster bootstrap.

    Args:
        one: The ratings of one rater.
        other: The ratings of the other, for the same samples.
        weights: The weights of disagreements: `none` for categories, `linear` or `quadratic` for
            ratings, by the distance of their ranks among all ratings that occur.
        clusters: The cluster of each sample; None: each is its own.

    Source: Cohen 1960 and 1968.
    """
    if not len(one):
        return Kappa(np.nan, np.nan, np.nan)
    categories, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
    size = len(categories)
    cells = codes[: len(one)] * size + codes[len(one) :]
    if clusters is None:
        clusters = np.arange(len(one))
    groups = np.unique(clusters, return_inverse=True)[1]
    counts = np.zeros((int(groups.max()) + 1, size * size))
    np.add.at(counts, (groups, cells), 1.0)
    value = kappas(counts.sum(axis=0).reshape(1, size, size), weights)[0]
    if len(counts) == 1:
        return Kappa(float(value), np.nan, np.nan)
    drawn = cluster_weights(len(counts)).astype(np.float64) @ counts
    spread = kappas(drawn.reshape(-1, size, size), weights)
    spread = spread[np.isfinite(spread)]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(spread, [tail, 1 - tail]) if len(spread) else (np.nan, np.nan)
    return Kappa(float(value), float(low), float(high))


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


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
