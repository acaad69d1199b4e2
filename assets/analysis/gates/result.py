"""The result of a gate on one metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["regression", "min", "max"]

Verdict: TypeAlias = Literal[
    "improved", "unchanged", "regressed", "met", "missed", "not_enough_data"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """The gate's verdict on one metric of a system: a row of the table `gates`.

    Attributes:
        benchmark: The benchmark.
        system: The system that must pass.
        baseline: The system that it is compared with; None for `min` and `max`.
        evaluator: The evaluator.
        metric: The metric.
        kind: `regression`: compared with a baseline; `min`, `max`: compared with a number.
        value: The difference (the system's mean minus the baseline's), or the system's mean; NaN
            where there is none.
        limit: The tolerance, or the number.
        low: The lower end of the 95 % interval of `value`; NaN where there is none.
        high: The upper end.
        verdict: The verdict.
        n_pairs: The questions that `value` rests on.
        p_value: The p-value of no change beyond the tolerance, adjusted for all metrics; NaN for
            `min` and `max`.
        detectable: The smallest difference that this number of questions can detect; NaN for
            `min` and `max`.
    """

    benchmark: str
    system: str
    baseline: str | None
    evaluator: str
    metric: str
    kind: Kind
    value: float
    limit: float
    low: float
    high: float
    verdict: Verdict
    n_pairs: int
    p_value: float
    detectable: float

    @property
    def address(self) -> str:
        """`evaluator.metric`."""
        return f"{self.evaluator}.{self.metric}"

    @property
    def passed(self) -> bool:
        """Whether the gate lets the system pass; too few questions alone do not fail it."""
        return self.verdict not in ("regressed", "missed")
