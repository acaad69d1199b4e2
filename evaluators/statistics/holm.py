"""Holm's adjustment of p-values for multiple tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats


def holm(p_values: Floats) -> Floats:
    """Return Holm's adjusted p-values, which control the family-wise error under any dependence.

    Args:
        p_values: Shape (..., tests): a family in each row; NaN for a missing test, which is not
            counted.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    # NaN is last in the order, so that its steps come after all others.
    order = np.argsort(p_values, axis=-1)
    tests = np.isfinite(p_values).sum(axis=-1, keepdims=True)
    steps = tests - np.arange(p_values.shape[-1])
    stepped = np.maximum.accumulate(np.take_along_axis(p_values, order, axis=-1) * steps, axis=-1)
    adjusted = np.empty_like(p_values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted
