"""What another tool scored: worked cases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators import catalog
from evaluators.catalog import build, build_from
from evaluators.errors import BadParameters
from tests.support.samples import Outcome, outcomes, samples

THEIRS = build("reported", {"name": "pass"})


def outcome(parameters: dict[str, Any], reported: Any, error: str | None = None) -> Outcome:
    """Return the outcome of one sample."""
    text = None if reported is None else json.dumps(reported)
    frame = samples([{"reported": text, "error": error}], ["reported"])
    (found,) = outcomes(build("reported", parameters), frame)
    return found["value"]


@pytest.mark.parametrize(
    ("parameters", "reported", "expected"),
    [
        ({"name": "pass"}, {"pass": True}, 1),
        ({"name": "pass"}, {"pass": False, "score": 0.9}, 0),
        ({"name": "score"}, {"pass": False, "score": 0.9}, 0.9),
        ({"name": "s", "bounds": [1, 5]}, {"s": 4}, 4),
        ({"name": "s", "bounds": [None, None]}, {"s": -1e300}, -1e300),
        ({"name": "s", "bounds": [0, None], "best": "low"}, {"s": 250.5}, 250.5),
        ({"name": "two words/ä"}, {"two words/ä": 0.5}, 0.5),
        ({"name": "p", "pass_fail": True}, {"p": 1.0}, 1),
    ],
)
def test_a_value_is_what_was_reported(
    parameters: dict[str, Any], reported: dict[str, Any], expected: float
) -> None:
    assert outcome(parameters, reported) == Outcome(expected)


@pytest.mark.parametrize(
    ("parameters", "reported", "status", "reason"),
    [
        ({"name": "pass"}, None, "not_applicable", "no reported"),
        ({"name": "pass"}, {}, "not_applicable", "nothing was reported"),
        (
            {"name": "passed"},
            {"score": 1, "pass": True},
            "not_applicable",
            "'passed' was not reported (did you mean 'pass'?): 'pass', 'score'",
        ),
        (
            {"name": "zzz"},
            {f"n{at:02}": 1 for at in range(12)},
            "not_applicable",
            ("'zzz' was not reported: 'n00', 'n01', 'n02', 'n03', 'n04' and 7 more"),
        ),
        (
            {"name": "score9"},
            {**{f"n{at:02}": 1 for at in range(12)}, "score": 1, "a score": 1},
            "not_applicable",
            (
                "'score9' was not reported (did you mean 'score'?): 'score', 'a score', 'n09', "
                "'n00', 'n01' and 9 more"
            ),
        ),
        ({"name": "s"}, {"s": 4}, "undefined", "4 is not within 0 and 1: set `bounds`"),
        (
            {"name": "s", "pass_fail": True},
            {"s": 0.5},
            "undefined",
            "0.5 is neither a pass (1) nor a failure (0)",
        ),
    ],
)
def test_a_missing_value_has_a_reason(
    parameters: dict[str, Any], reported: Any, status: str, reason: str
) -> None:
    assert outcome(parameters, reported) == Outcome(None, status, reason)


@pytest.mark.parametrize(
    ("parameters", "worst"),
    [
        ({"name": "pass"}, Outcome(0, "scored", "target_error")),
        ({"name": "pass", "best": "low"}, Outcome(1, "scored", "target_error")),
        ({"name": "pass", "bounds": [None, 5]}, Outcome(None, "target_error", "target_error")),
    ],
)
@pytest.mark.parametrize("reported", [{"pass": True}, {"score": 1}, {}])
def test_a_failed_answer_has_the_worst_value_whatever_was_reported(
    parameters: dict[str, Any], worst: Outcome, reported: dict[str, Any]
) -> None:
    assert outcome(parameters, reported, "timeout") == worst


def test_a_failed_answer_of_a_system_without_reports_is_not_applicable() -> None:
    assert outcome({"name": "pass"}, None, "timeout").status == "not_applicable"


def test_without_a_name_it_is_that_of_the_evaluator() -> None:
    own = build_from(catalog.catalogue()["reported"], {}, "toxicity/theirs")
    frame = samples([{"reported": '{"toxicity/theirs": 0.25}'}], ["reported"])
    assert outcomes(own, frame) == [{"value": Outcome(0.25)}]


def test_the_metric_has_the_bounds_and_the_direction_of_the_parameters() -> None:
    (value,) = build("reported", {"bounds": [1, None], "best": "low"}).measured()
    assert (value.bounds, value.best, value.threshold) == ((1, float("inf")), "low", None)
    (value,) = build("reported", {"pass_fail": True}).measured()
    assert (value.pass_fail, value.threshold, value.primary) == (True, 0.5, True)
    assert THEIRS.parameters["name"] == "pass"
    assert 'name:"pass"' in THEIRS.signature


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"bounds": [1, 0]}, r"bounds \(1.0, 0.0\) are not in order"),
        ({"bounds": [0, 5], "pass_fail": True}, r"bounds must be \[0, 1\] with pass_fail"),
        ({"nam": "pass"}, "unknown parameter 'nam' .did you mean 'name'"),
        ({"name_": "pass"}, "unknown parameter 'name_' .did you mean 'name'"),
        ({"name": 3}, "parameter name: "),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(BadParameters, match=said):
        build("reported", parameters)
