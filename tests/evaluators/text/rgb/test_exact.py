"""The exact rules of RGB against the labels that its script gave."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.text.rgb import exact
from tests.support.golden_cases import golden


@pytest.mark.parametrize(
    "case",
    [case for case in golden("rgb")["cases"] if case["kind"] == "correctness"],
    ids=lambda case: case["id"],
)
def test_golden(case: dict[str, Any]) -> None:
    response, gold = case["input"]["response"], case["input"]["official_gold"]
    expected = case["expected"]["official"]
    outer = gold if isinstance(gold, list) else [gold]
    parts = [part if isinstance(part, list) else [part] for part in outer]
    labels = (
        [-1]
        if exact.is_refusal(response)
        else [int(part) for part in exact.found_parts(response, parts)]
    )
    assert labels == expected["labels"]
    assert exact.is_correct(response, parts) == expected["correct"]
    assert exact.is_refusal(response) == expected["rejected"]
    assert exact.reports_errors(response) == expected["error_detected"]


def test_spaces_are_removed_in_chinese_only() -> None:
    assert exact.remove_spaces("信 息 \u3000不足", "zh") == "信息\u3000不足"
    assert exact.remove_spaces("no information", "en") == "no information"
