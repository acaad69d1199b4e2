"""A metric: one number and how to read it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number that an evaluator gives, and all that is needed to read it.

    Attributes:
        name: In snake_case; unique within its evaluator.
        summary: One sentence that says what the number means; every page repeats this one.
        best: Which end of the scale is the good one.
        bounds: The smallest and the largest value that the formula can give.
        threshold: The value from which on a system passes; null where there is no sensible one.
        primary: Whether this is the number that stands for the evaluator; one in each evaluator.
        level: `sample` for a number about each sample, `system` for one that exists only for a
            whole set (a corpus score, a confusion matrix).
    """

    name: str
    summary: str
    best: Literal["high", "low"] = "high"
    bounds: tuple[float, float] = (0.0, 1.0)
    threshold: float | None = 0.75
    primary: bool = False
    level: Literal["sample", "system"] = "sample"

    def __post_init__(self) -> None:
        """Refuse what could not be read as a metric.

        Raises:
            ValueError: For a name not in snake_case, an empty summary, or bounds out of order.
        """
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"metric {self.name!r}: the name must be in snake_case")
        if not self.summary.strip():
            raise ValueError(f"metric {self.name!r}: a summary is missing")
        low, high = self.bounds
        if not low < high:
            raise ValueError(f"metric {self.name!r}: bounds {self.bounds!r} are not in order")

    @property
    def worst(self) -> float | None:
        """The worst value that there is, or None where the scale is open on that side."""
        end = self.bounds[0] if self.best == "high" else self.bounds[1]
        return end if math.isfinite(end) else None

    def passes(self, value: float, threshold: float | None = None) -> bool | None:
        """Whether a value is as good as the threshold (equal passes), or None without one."""
        limit = self.threshold if threshold is None else threshold
        if limit is None:
            return None
        return value >= limit if self.best == "high" else value <= limit
