"""Outcomes of one sample: a number, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, TypeAlias


class Status(StrEnum):
    """Whether there is a value, or why not; a value is null exactly when it is not `scored`."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    UNDEFINED = "undefined"
    PARSE_FAILURE = "parse_failure"
    JUDGE_ERROR = "judge_error"
    TARGET_ERROR = "target_error"


class Unscored(Exception):  # noqa: N818 - a result with a reason, not a malfunction
    """The reason why a metric has no value for a sample.

    Raise it for all metrics of the evaluator, or return it in place of one number.

    Attributes:
        of_run: Whether the reason is not in the sample, but in what the run has: an engine, a
            label or a parameter is missing, or an evaluator is at fault.
    """

    status: ClassVar[Status]

    def __init__(self, reason: str, *, of_run: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.of_run = of_run


class NotApplicable(Unscored):
    """A required input is missing."""

    status = Status.NOT_APPLICABLE


class JudgeSkipped(NotApplicable):
    """The judge is optional, and its key is missing; a later run may call it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, of_run=True)


class Undefined(Unscored):
    """The inputs are there, but the formula has no value (a division by zero, say)."""

    status = Status.UNDEFINED


class ParseFailure(Unscored):
    """The judge answered, but the reply is not usable."""

    status = Status.PARSE_FAILURE


class JudgeError(Unscored):
    """The judge could not be called, or did not answer."""

    status = Status.JUDGE_ERROR


class TargetError(Unscored):
    """The system under evaluation failed to answer."""

    status = Status.TARGET_ERROR


class Chance(NamedTuple):
    """What noise alone gives a system without fault on a metric that noise moves off its best.

    Attributes:
        level: The mean.
        high: The 97.5 % quantile.
    """

    level: float
    high: float


Value: TypeAlias = float | Unscored
Scores: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Graded:
    """The scores of one sample (or of one system) with the evidence behind them.

    Attributes:
        scores: A value, or the reason why there is none, by metric.
        detail: The evidence, as JSON types.
        remark: A note on values that exist (an empty answer leaks nothing); it is stored as their
            reason.
        chance: For system metrics: what noise alone gives; see `Evaluator.chance`.
    """

    scores: Scores
    detail: Mapping[str, Any] | None = None
    remark: str | None = None
    chance: Mapping[str, Chance] = field(default_factory=dict)


def as_graded(result: Scores | Graded) -> Graded:
    """Wrap plain scores in `Graded`."""
    return result if isinstance(result, Graded) else Graded(result)
