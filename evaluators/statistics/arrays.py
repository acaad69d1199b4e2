"""Array types and conventions of the statistics."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

CONFIDENCE = 0.95
"""The confidence of every interval."""

LEVEL = 0.05
"""The level at which a difference counts as significant."""
