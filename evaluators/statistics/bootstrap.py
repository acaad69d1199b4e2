"""The seed of all random numbers, and the number of resamples of a bootstrap."""

from __future__ import annotations

DRAWS = 2_000
"""The number of resamples."""

SEED = 20_261_120
"""The seed of all random numbers in this package, so that equal scores give equal results."""
