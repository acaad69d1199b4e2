"""Many slices: whether a difference depends on the slice, and means less noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators.statistics.clusters import sum_by_cluster

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats
    from evaluators.statistics.clusters import Groups

_ROUNDING = 1e-13


def interaction_p(differences: Floats, is_on_slice: Booleans, groups: Groups) -> Floats:
    """Return p-values of the hypothesis that a difference is the same on a slice and elsewhere.

    A t test of the difference of the two means, with the jackknife's errors (CR3), also if clusters
    have questions on both sides. A side with little variation may just be small: if no cluster is
    on both sides, the error is at least that of numbers that vary equally.

    Args:
        differences: Shape (questions, pairs): the differences of two systems; NaN where missing.
        is_on_slice: Shape (questions,): whether the question is on the slice.
        groups: The clusters of the questions.

    Returns:
        Shape (pairs,); 1 if one side has fewer than two clusters, or no difference varies.

    Source: Welch 1947; Bell and McCaffrey 2002.
    """
    from scipy.special import stdtr

    side = np.asarray(is_on_slice)[:, None]
    on, rest = (
        sum_by_cluster(np.where(rows, differences, np.nan), groups) for rows in (side, ~side)
    )
    shared = ((on.counts > 0) & (rest.counts > 0)).any(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.stack([on.std_errors**2, rest.std_errors**2])
        degrees = np.stack([on.degrees_of_freedom, rest.degrees_of_freedom])
        sizes = np.stack([on.effective_clusters, rest.effective_clusters])
        separate = ((on.residuals - rest.residuals) ** 2).sum(axis=0)
        spread = (variances * sizes * degrees).sum(axis=0) / degrees.sum(axis=0)
        pooled = np.where(shared, 0.0, spread * (1 / sizes).sum(axis=0))
        welch = variances.sum(axis=0) ** 2 / (variances**2 / degrees).sum(axis=0)
        freedom = np.select(
            [shared, pooled > separate], [degrees.min(axis=0), degrees.sum(axis=0)], welch
        )
        error = np.sqrt(np.maximum(separate, pooled))
        t = (on.means - rest.means) / error
        noise = _ROUNDING * np.maximum(np.abs(on.means), np.abs(rest.means))
        # NaN where one side has no variance.
        p: Floats = np.where(error > noise, 2 * stdtr(freedom, -np.abs(t)), 1.0)
    return np.nan_to_num(p, nan=1.0)


def shrunken_means(means: Floats, variances: Floats, overall: float) -> Floats:
    """Return the means of slices, shrunken towards the mean of all questions.

    Of many slices, the lowest mean is mostly the one with the worst luck. Each mean keeps the share
    of its distance that the variance between slices explains.

    Args:
        means: Shape (slices,).
        variances: The variance of each mean that noise causes, positive; the same shape.
        overall: The mean of all questions.

    Source: empirical Bayes; the variance between slices after DerSimonian and Laird 1986.
    """
    weights = 1 / variances
    middle = weights @ means / weights.sum()
    excess = weights @ (means - middle) ** 2 - (len(means) - 1)
    between = max(0.0, excess / (weights.sum() - weights @ weights / weights.sum()))
    shrunken: Floats = overall + between / (between + variances) * (means - overall)
    return shrunken
