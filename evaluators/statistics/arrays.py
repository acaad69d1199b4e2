"""Array types of the statistics, and the constants that they share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    # Commands that only need a constant do without NumPy.
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]
    Booleans: TypeAlias = NDArray[np.bool_]

CONFIDENCE = 0.95
"""The confidence of every interval."""

LEVEL = 0.05
"""The level at which a difference counts as significant."""

SEED = 20_261_120
"""The seed of all random numbers in this package, so that equal scores give equal results."""

DRAWS = 2_000
"""The number of resamples of a bootstrap."""
