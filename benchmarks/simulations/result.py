"""What a simulation found: rates with their simulation error, in tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the output.

    Attributes:
        title: What was simulated, against which target.
        heads: The heads of the columns.
        rows: The cells, as text.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def rate(hits: int, trials: int) -> str:
    """Return a rate with its simulation error (one standard error), such as `0.948 ± 0.004`."""
    share = hits / trials
    # A rate of 0 or 1 is as uncertain as one hit more or less.
    spread = max(share * (1 - share), 1 / trials)
    return f"{share:.3f} ± {math.sqrt(spread / trials):.3f}"
