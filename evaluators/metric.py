"""Metrics: the names, bounds, directions and thresholds of scores."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
ROUNDING = 1e-9
"""How far a value may exceed a bound through rounding, relative to a bound above 1."""


def rounding_error(bound: float) -> float:
    """Return by how much a value may exceed a bound through rounding; more is a defect."""
    return ROUNDING * max(1.0, abs(bound))


RESERVED = frozenset({"detail"})
"""Columns beside those of metrics in the frames that evaluators return."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number that an evaluator computes, and how to read it.

    Attributes:
        name: The name in snake_case; unique within the evaluator.
        summary: One sentence that says what the number means; all pages show it.
        best: Whether high or low values are better.
        bounds: The smallest and the largest value of the formula.
        threshold: The value at which a system passes; None where no threshold makes sense.
        pass_fail: Whether the value is 1 or 0: the sample passes, or it fails.
        primary: Whether this is the evaluator's main metric; each evaluator has exactly one.
        level: `sample` for a number about each sample, `system` for a number about a whole system
            (a corpus score, a confusion matrix).
        debiases: For a system metric: the system metric of which this one is the excess over its
            chance level. Scoring computes it; see `Evaluator.chance`.
    """

    name: str
    summary: str
    best: Literal["high", "low"] = "high"
    bounds: tuple[float, float] = (0.0, 1.0)
    threshold: float | None = 0.75
    pass_fail: bool = False
    primary: bool = False
    level: Literal["sample", "system"] = "sample"
    debiases: str | None = None

    def __post_init__(self) -> None:
        """Validate name, summary and bounds.

        Raises:
            ValueError: The name is not in snake_case or that of a column, the summary is empty, or
                the bounds are not in order.
        """
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"metric {self.name!r}: the name must be in snake_case")
        if self.name in RESERVED:
            raise ValueError(
                f"metric {self.name!r}: this is the name of a column, take another one"
            )
        if not self.summary.strip():
            raise ValueError(f"metric {self.name!r}: a summary is missing")
        low, high = self.bounds
        if not low < high:
            raise ValueError(f"metric {self.name!r}: bounds {self.bounds!r} are not in order")

    @property
    def worst(self) -> float | None:
        """The worst possible value, or None where the scale has no bound on that side."""
        end = self.bounds[0] if self.best == "high" else self.bounds[1]
        return end if math.isfinite(end) else None

    def settle(self, value: float) -> float | None:
        """Return a value within the bounds, or None if it is beyond them or not finite.

        A value that exceeds a bound by rounding only (a cosine of 1 + 2e-16) is the bound.
        """
        low, high = self.bounds
        if not low - rounding_error(low) <= value <= high + rounding_error(high):
            return None
        return min(max(value, low), high) if math.isfinite(value) else None


ATTEMPTS = (*range(2, 11), 15, 20, 25, 30, 40, 50, 75, 100)
"""The numbers of answers for which there are pass rates, as far as all questions have so many."""


class RepeatedMetric(NamedTuple):
    """A metric of questions with several answers.

    Attributes:
        metric: The metric.
        base: The place of the metric of single answers among those of its evaluator.
        kind: What it says of the answers.
        answers: The number of answers that it needs.
    """

    metric: Metric
    base: int
    kind: Literal["majority", "pass_at", "pass_hat"]
    answers: int


def metrics_of_repeats(
    metrics: Sequence[Metric], repeats: int, least: int, *, has_labels: bool
) -> Iterator[RepeatedMetric]:
    """Yield the additional metrics of questions with several answers.

    Those of more answers come later, so that the same places of lists have the same meaning
    whatever the number of answers.

    Args:
        metrics: The metrics of single answers of one evaluator; those that pass or fail count.
        repeats: The largest number of answers to a question.
        least: The smallest one: rates of more answers would be of other questions than the mean.
        has_labels: Whether answers are labels, of which there is a most frequent one.
    """
    passing = [(at, each) for at, each in enumerate(metrics) if each.pass_fail]
    if has_labels and repeats > 1:
        for at, each in passing:
            majority = replace(
                each,
                name=f"{each.name}_majority",
                summary=f"`{each.name}` of the label that most answers to the question have.",
                primary=False,
                pass_fail=False,
            )
            yield RepeatedMetric(majority, at, "majority", 2)
    for k in ATTEMPTS:
        if k > least:
            return
        for at, each in passing:
            some = Metric(
                name=f"{each.name}_pass_at_{k}",
                summary=f"Chance that at least one of {k} answers passes by `{each.name}`.",
                threshold=None,
            )
            every = Metric(
                name=f"{each.name}_pass_hat_{k}",
                summary=f"Chance that all of {k} answers pass by `{each.name}`.",
                threshold=None,
            )
            yield RepeatedMetric(some, at, "pass_at", k)
            yield RepeatedMetric(every, at, "pass_hat", k)
