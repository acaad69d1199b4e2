"""Made-up scores whose truth is known, many benchmarks at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers


def benchmarks(
    clusters: int, size: int, repeats: int, *, seed: int, passes: bool, share: float = 0.7
) -> tuple[Floats, Integers, float]:
    """Scores of `repeats` benchmarks of `clusters` clusters of `size` questions each.

    A cluster has a difficulty of its own where it holds more than one question. Passes are 0 or 1
    with the mean `share`; other scores are skewed, between 0 and 1.

    Returns:
        The scores (questions, repeats), the cluster of each question, and the true mean.
    """
    generator = np.random.default_rng(seed)
    if size == 1:
        level = np.full((clusters, repeats), share)
    else:
        level = generator.beta(6 * share, 6 * (1 - share), size=(clusters, repeats))
    spread = np.repeat(level, size, axis=0)
    if passes:
        values = (generator.random(spread.shape) < spread).astype(np.float64)
    else:
        values = generator.beta(4 * spread, 4 * (1 - spread))
    return values, np.repeat(np.arange(clusters), size), share
