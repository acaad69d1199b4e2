"""Tokens presence: worked cases, constraints that cannot be read, and a pattern that runs away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadConstraints, BadParameters
from evaluators.kinds.pass_fail import NOT_JUDGED
from evaluators.library.generation.tokens_presence import TokensPresence
from evaluators.scoring import aggregate, score
from tests.support.golden_cases import golden
from tests.support.samples import Outcome, outcomes, rows_to_fold, samples, values

CASES = golden("tokens_presence")["cases"]
LONG = "a" * 100_000 + "!"


def sample(case: dict[str, Any]) -> dict[str, Any]:
    given = case["input"]
    expected = given["expected_answer"]
    return {
        "answer": given["answer"],
        "constraints": json.dumps(given["constraints"]),
        "contexts": given["context"],
        "expected_answers": None if expected is None else [expected],
    }


@pytest.mark.parametrize(
    "case", [case for case in CASES if "expected" in case], ids=lambda case: case["id"]
)
def test_golden(case: dict[str, Any]) -> None:
    judged = case["input"]["evaluate_context"]
    found = values(TokensPresence(check_context=judged), sample(case))
    expected = {name.removeprefix("model_"): value for name, value in case["expected"].items()}
    if not judged:  # a context that was not judged has no number here, and 0 in the golden file
        assert expected.pop("retrieval_failures") == 0
        assert found.pop("retrieval_failures") is None
    assert found == expected


@pytest.mark.parametrize(
    "case", [case for case in CASES if "expected_config_error" in case], ids=lambda case: case["id"]
)
def test_golden_errors(case: dict[str, Any]) -> None:
    with pytest.raises(BadConstraints):
        values(TokensPresence(), sample(case))


@pytest.mark.parametrize(
    ("constraints", "told"),
    [
        ('"Paris"', "expected a list, got a text"),
        ("[1", "not JSON"),
        ('["a", 5]', "constraint 2: expected a text, got a number 5"),
        ('["a", ["b", null]]', "constraint 2, alternative 2: expected a text, got null"),
        ("[[]]", "constraint 1: the list of alternatives is empty"),
        ('["REGEXP:("]', "constraint 1: '\\(' is not a regular expression"),
    ],
)
def test_constraints_that_cannot_be_read(constraints: str, told: str) -> None:
    with pytest.raises(BadConstraints, match=told):
        values(TokensPresence(), {"answer": "x", "constraints": constraints})


def test_what_is_required_without_constraints() -> None:
    rows: list[dict[str, Any]] = [
        {"answer": "It is Rome.", "expected_answers": ["Paris", "Rome"]},
        {"answer": "It is Oslo.", "expected_answers": ["Paris", "", "Rome"]},
        {"answer": "x", "constraints": "[]"},
        {"answer": "x"},
        {"answer": "x", "expected_answers": [" "]},
        {"answer": None, "constraints": '["x"]'},
    ]
    found = outcomes(TokensPresence(), samples(rows))
    assert [outcome["passes"] for outcome in found] == [
        Outcome(1.0),
        Outcome(0.0),
        Outcome(1.0, "scored", "no_constraints"),
        Outcome(None, "not_applicable", "neither constraints nor an expected answer"),
        Outcome(None, "not_applicable", "neither constraints nor an expected answer"),
        Outcome(None, "not_applicable", "no answer"),
    ]


def test_a_failed_answer_fails_without_a_parse_failure() -> None:
    frame = samples([{"answer": "x", "constraints": '["x"]', "contexts": ["x"], "error": "no"}])
    (found,) = outcomes(TokensPresence(), frame)
    assert found["passes"] == Outcome(0.0, "scored", "target_error")
    assert found["generation_failures"] == Outcome(1.0, "scored", "target_error")
    assert found["retrieval_failures"] == Outcome(None, "not_applicable", NOT_JUDGED.reason)
    assert found["parse_failures"].status == "not_applicable"
    (judged,) = outcomes(TokensPresence(check_context=True), frame)
    assert judged["retrieval_failures"] == Outcome(1.0, "scored", "target_error")


def test_a_context_that_is_never_given_is_not_judged() -> None:
    row = {"answer": "x", "constraints": '["x"]'}
    (found,) = outcomes(TokensPresence(check_context=True), samples([row]))
    assert found["passes"] == Outcome(1.0)
    assert found["retrieval_failures"] == Outcome(None, "not_applicable", "no contexts")


def test_passages_are_read_only_if_they_are_checked() -> None:
    assert TokensPresence().columns == {"answer", "constraints", "expected_answers"}
    assert TokensPresence(check_context=True).columns >= {"answer", "contexts"}


def test_the_detail_names_the_constraints_that_failed() -> None:
    row = {"answer": "b", "contexts": ["a"], "constraints": '["a", ["b", "c"], "REGEXP:d"]'}
    detail = score(TokensPresence(check_context=True), samples([row])).frame["detail"][0]
    assert json.loads(detail) == {"answer": [1, 3], "context": [2, 3]}


def test_a_pattern_that_runs_away_leaves_a_reason_and_the_run_goes_on() -> None:
    """The pattern would take longer than the universe has existed on the second answer."""
    rows = [
        {"answer": "aaa", "constraints": '["REGEXP:(a+)+$"]'},
        {"answer": LONG, "constraints": '["REGEXP:(a+)+$"]'},
        {"answer": LONG, "constraints": '["!"]'},
        {"answer": "b", "constraints": '["REGEXP:(a+)+$"]'},
    ]
    frame = samples(rows)
    found = outcomes(TokensPresence(), frame)
    reason = "pattern '(a+)+$' took longer than 1 s"
    assert [outcome["passes"] for outcome in found] == [
        Outcome(1.0),
        Outcome(None, "undefined", reason),
        Outcome(1.0),
        Outcome(0.0),
    ]
    assert found[1]["parse_failures"] == Outcome(0.0)
    quick = TokensPresence(pattern_seconds=0.2)
    assert aggregate(quick, rows_to_fold(quick, frame)).scores == {"passes_of_all": 2 / 3}


def test_unusable_parameters() -> None:
    with pytest.raises(BadParameters, match="pattern_seconds must be above 0"):
        build("tokens_presence", {"pattern_seconds": 0.0})
