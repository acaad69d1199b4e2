"""Six outcomes, each with its own name; no seventh, and none that looks like a number."""

from __future__ import annotations

import pytest

from evaluators.outcome import (
    Graded,
    JudgeError,
    NotApplicable,
    ParseFailure,
    Status,
    TargetError,
    Undefined,
    Unscored,
    as_graded,
)

REASONS = {
    NotApplicable: "not_applicable",
    Undefined: "undefined",
    ParseFailure: "parse_failure",
    JudgeError: "judge_error",
    TargetError: "target_error",
}


def test_the_statuses_are_those_that_users_rely_on() -> None:
    assert {status.value for status in Status} == {"scored", *REASONS.values()}


@pytest.mark.parametrize(("kind", "status"), REASONS.items())
def test_each_reason_has_a_status_of_its_own(kind: type[Unscored], status: str) -> None:
    reason = kind("because")
    assert reason.status.value == status
    assert (reason.reason, str(reason)) == ("because", "because")


def test_every_unscored_status_has_a_reason_to_raise() -> None:
    assert {kind.status for kind in Unscored.__subclasses__()} == set(Status) - {Status.SCORED}


def test_plain_scores_are_graded_without_evidence() -> None:
    assert as_graded({"f1": 0.5}) == Graded({"f1": 0.5}, None)


def test_graded_scores_stay_as_they_are() -> None:
    result = Graded({"f1": 0.5}, {"why": "because"})
    assert as_graded(result) is result
