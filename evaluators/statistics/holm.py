"""Holm's adjustment of p-values for multiple tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats


def holm(p_values: Floats) -> Floats:
    """Return Holm's adjusted p-values, which control the family-wise error under any dependence.

    Args:
        p_values: Shape (tests,); NaN for a missing test, which is not counted.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    adjusted = np.full(len(p_values), np.nan)
    order = np.argsort(p_values)[: int(np.isfinite(p_values).sum())]
    tests = len(order)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(tests, 0, -1))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
