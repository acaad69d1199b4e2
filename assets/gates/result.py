"""The result of a gate on one metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["regression", "min", "max"]

Verdict: TypeAlias = Literal[
    "improved", "unchanged", "regressed", "met", "missed", "not_enough_data", "not_comparable"
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
        low: The lower end of the 95 % interval of `value`; NaN where there is none. With a
            tolerance, and for sequential gates, each end is a one-sided 95 % bound.
        high: The upper end.
        verdict: The verdict.
        n_pairs: The questions that `value` rests on.
        p_value: The p-value of no change beyond the tolerance, adjusted for all metrics; NaN for
            `min` and `max`.
        detectable: The smallest difference that this number of questions can detect; NaN for
            `min` and `max`.
        confident: Whether an end of the interval must reach the limit, not only the mean.
        reason: Why there is no other verdict than `not_comparable`.
        look: The number of the look of a sequential gate; None for other gates.
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
    confident: bool = False
    reason: str | None = None
    look: int | None = None

    @property
    def address(self) -> str:
        """`evaluator.metric`."""
        return f"{self.evaluator}.{self.metric}"

    @property
    def passed(self) -> bool:
        """Whether the gate lets the system pass.

        A regression needs evidence, so that too few questions alone do not fail a system. A limit
        is a requirement, which a metric without a value does not meet.
        """
        if self.verdict == "not_enough_data":
            return self.kind == "regression"
        return self.verdict not in ("regressed", "missed", "not_comparable")

    @property
    def message(self) -> str:
        """The verdict in a sentence."""
        compared = "" if self.baseline is None else f", compared with {self.baseline}"
        subject = f"{self.address} of {self.system}{compared}"
        if self.verdict == "not_comparable":
            return f"{subject}: not comparable: {self.reason}"
        if self.kind == "regression":
            tolerance = f", tolerance {self.limit:g}" if self.limit else ""
            look = f", look {self.look}" if self.look is not None else ""
            verdict = self.verdict.replace("_", " ")
            return f"{subject}: {verdict}, {self._estimate('+')} on {self._n}{tolerance}{look}"
        return f"{subject} is {self._estimate()} on {self._n}, {self._requirement()}"

    @property
    def _n(self) -> str:
        return f"{self.n_pairs:,} question{'' if self.n_pairs == 1 else 's'}"

    def _estimate(self, sign: Literal["", "+"] = "") -> str:
        """Return the value and its interval."""
        if math.isnan(self.value):
            return "unknown"
        if math.isnan(self.low):
            return f"{self.value:{sign}.3f}"
        # With a tolerance, and over many looks, these are not the ends that `compare` shows.
        is_one_sided = self.kind == "regression" and (self.limit or self.look is not None)
        ends = "one-sided 95 % bounds " if is_one_sided else ""
        return f"{self.value:{sign}.3f} ({ends}{self.low:{sign}.3f} to {self.high:{sign}.3f})"

    def _requirement(self) -> str:
        """Return the limit, and whether the mean reaches it."""
        end = {"min": "the lower end", "max": "the upper end"}
        of_interval = f" for {end[self.kind]} of the interval" if self.confident else ""
        required = f"at {'least' if self.kind == 'min' else 'most'} {self.limit:g}{of_interval}"
        if self.verdict == "met":
            return f"{required} as required"
        if self.verdict == "not_enough_data":
            return f"which cannot be compared with the limit: {required} is required"
        return f"but {required} is required"


def not_comparable(
    benchmark: str,
    system: str,
    baseline: str | None,
    address: tuple[str, str],
    kind: Kind,
    limit: float,
    reason: str,
) -> GateResult:
    """Return the result of a gate that could not be evaluated.

    Args:
        benchmark: The benchmark.
        system: The system that must pass.
        baseline: The system that it is compared with, if any.
        address: The evaluator and the metric.
        kind: The kind of gate.
        limit: The tolerance, or the number.
        reason: What prevents the comparison.
    """
    evaluator, metric = address
    unknown = math.nan
    return GateResult(
        benchmark=benchmark,
        system=system,
        baseline=baseline,
        evaluator=evaluator,
        metric=metric,
        kind=kind,
        value=unknown,
        limit=limit,
        low=unknown,
        high=unknown,
        verdict="not_comparable",
        n_pairs=0,
        p_value=unknown,
        detectable=unknown,
        reason=reason,
    )
