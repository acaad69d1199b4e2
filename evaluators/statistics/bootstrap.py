"""The cluster bootstrap: the same draws of clusters for every system and metric of a benchmark."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evaluators.statistics.arrays import Floats
    from evaluators.statistics.clusters import ClusterSums

DRAWS = 2_000
SEED = 20_261_120
"""The seed of all random numbers in this package, so that equal scores give equal intervals."""

LARGE = 20_000
"""The number of clusters above which means are assumed to be normal (exact to three digits)."""

_CHUNK = 4_000_000


@lru_cache(maxsize=4)
def cluster_weights(clusters: int, draws: int = DRAWS) -> NDArray[np.uint8]:
    """Return how often each cluster is drawn: shape (draws, clusters), row sums `clusters`."""
    generator = np.random.default_rng(SEED)
    weights = np.empty((draws, clusters), dtype=np.uint8)
    step = max(1, _CHUNK // clusters)
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        drawn = generator.integers(0, clusters, size=(rows, clusters))
        drawn += np.arange(rows)[:, None] * clusters
        counted = np.bincount(drawn.ravel(), minlength=rows * clusters)
        weights[start : start + rows] = counted.reshape(rows, clusters)
    weights.flags.writeable = False
    return weights


def resampled_means(data: ClusterSums) -> Floats:
    """Return the mean of each column in each draw of clusters with replacement.

    All columns use the same draws, so a row gives differences and ranks. Above `LARGE` clusters,
    the draws come from the normal distribution with the covariance of the means, to which the
    bootstrap converges.

    Args:
        data: The numbers, summed within clusters.

    Returns:
        Shape (draws, columns); NaN where a draw holds no number of a column.
    """
    clusters, columns = data.sums.shape
    if clusters == 0:
        return np.full((DRAWS, columns), np.nan)
    if clusters > LARGE:
        return _normal_means(data)
    weights = cluster_weights(clusters)
    same = bool((data.counts == data.counts[:, :1]).all())
    counts = data.counts[:, :1] if same else data.counts
    means = np.empty((DRAWS, columns))
    step = max(1, _CHUNK // clusters)
    for start in range(0, DRAWS, step):
        chunk = weights[start : start + step].astype(np.float64)
        n = np.broadcast_to(chunk @ counts, (len(chunk), columns))
        nothing = np.full(n.shape, np.nan)
        means[start : start + step] = np.divide(chunk @ data.sums, n, out=nothing, where=n > 0)
    return means


def _normal_means(data: ClusterSums) -> Floats:
    residuals = data.residuals
    values, vectors = np.linalg.eigh(residuals.T @ residuals)
    # Rounding may make an eigenvalue of 0 negative.
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    noise = np.random.default_rng(SEED).standard_normal((DRAWS, len(values)))
    means: Floats = data.means + noise @ root.T
    return means
