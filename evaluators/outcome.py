"""What comes of one sample: a number, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, TypeAlias


class Status(StrEnum):
    """Why a value is there, or is not; a value is null exactly when this is not `scored`."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    UNDEFINED = "undefined"
    PARSE_FAILURE = "parse_failure"
    JUDGE_ERROR = "judge_error"
    TARGET_ERROR = "target_error"


class Unscored(Exception):  # noqa: N818 - a result with a reason, not a malfunction
    """Why a metric has no value for a sample.

    Raised, it holds for every metric of the evaluator; returned in place of a number, for one.
    """

    status: ClassVar[Status]

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotApplicable(Unscored):
    """Something that the metric needs is absent."""

    status = Status.NOT_APPLICABLE


class Undefined(Unscored):
    """Everything is there, but the formula has no value (a division by nought, say)."""

    status = Status.UNDEFINED


class ParseFailure(Unscored):
    """The judge answered, but nothing usable came of it."""

    status = Status.PARSE_FAILURE


class JudgeError(Unscored):
    """The judge could not be asked, or did not answer."""

    status = Status.JUDGE_ERROR


class TargetError(Unscored):
    """The system under evaluation failed to answer."""

    status = Status.TARGET_ERROR


Value: TypeAlias = float | Unscored
Scores: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Graded:
    """The scores of one sample (or of one system) with the evidence behind them.

    Attributes:
        scores: A value, or the reason for its absence, by metric.
        detail: The evidence, of types that JSON knows.
        remark: What is to be said of values that are there (an empty answer leaks nothing); it
            is stored as their reason.
    """

    scores: Scores
    detail: Mapping[str, Any] | None = None
    remark: str | None = None


def as_graded(result: Scores | Graded) -> Graded:
    """Give plain scores the form that may also carry evidence."""
    return result if isinstance(result, Graded) else Graded(result)
