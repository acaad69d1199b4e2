"""The flexible rules of RGB: normalising, and which rule fires first."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.text.rgb.flexible import NormalizedAnswer, find_detection, find_rejection, normalize
from tests.support.golden_cases import golden


@pytest.mark.parametrize(
    "case",
    [case for case in golden("rgb")["cases"] if case["kind"] == "correctness"],
    ids=lambda case: case["id"],
)
def test_golden(case: dict[str, Any]) -> None:
    response, truth = case["input"]["response"], case["input"]["truth"]
    expected = case["expected"]
    assert (
        normalize(response)
        == NormalizedAnswer(response).text
        == expected["seed_normalized_response"]
    )
    assert (NormalizedAnswer(response).rule(truth) is not None) == expected["seed_correct"]
    assert (normalize(response) == normalize(truth)) == expected["seed_strict"]


@pytest.mark.parametrize(
    ("answer", "expected", "rule"),
    [
        ("Paris", "paris.", "contains"),
        ("in Paris", "Paris", "contains"),
        ("a", "Paris", "contained"),
        ("b a", "a b", "overlap"),
        ("b c", "a b", None),
        ("", "Paris", None),
        ("Paris", "", None),
        ("...", "...", None),
    ],
)
def test_the_first_rule_that_fits(answer: str, expected: str, rule: str | None) -> None:
    assert NormalizedAnswer(answer).rule(expected) == rule


def test_the_first_spelling_that_fits() -> None:
    assert NormalizedAnswer("b a").rule_of_any(["x", "a b", "b"]) == "overlap"
    assert NormalizedAnswer("b a").rule_of_any([]) is None


def test_phrases_in_their_order() -> None:
    assert find_rejection("UNKNOWN, cannot answer") == "cannot answer"
    assert find_rejection("Paris") is None
    assert find_detection("However, an error", "x") == "error"
    assert find_detection("X IS WRONG", "x") == "wrong"
    assert find_detection("it is Not X", "x") == "not x"
