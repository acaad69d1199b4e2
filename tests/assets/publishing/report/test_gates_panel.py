"""The gates of a benchmark in the report: every number, and no markup from names."""

from __future__ import annotations

from typing import Any

import pytest

from assets.publishing.report.formatting import gate_state
from assets.publishing.report.panels.gates import describe_gate
from assets.publishing.report.templates_env import render

HOSTILE = "</td><script>window.struck = 1</script>"


def row(**changes: Any) -> dict[str, Any]:
    """A row of the table `gates`."""
    failed = {
        "system": "new",
        "baseline": "old",
        "evaluator": "citation",
        "metric": "f1",
        "kind": "regression",
        "value": -0.1667,
        "limit": 0.02,
        "ci_low": -0.2601,
        "ci_high": -0.0732,
        "verdict": "regressed",
        "passed": 0,
        "message": "citation.f1 of new, compared with old: regressed",
    }
    return {**failed, **changes}


def rendered(*rows: dict[str, Any]) -> str:
    return render("panels/gates.html.j2", rows=list(map(describe_gate, rows)), counted="1 failed")


def test_a_gate_shows_value_limit_interval_and_verdict() -> None:
    page = rendered(row())
    for text in ("-0.167", "-0.260 to -0.073", "by more than 0.02", "regressed", "citation.f1"):
        assert text in page
    assert '<strong class="warn">failed</strong>' in page
    assert "citation.f1 of new, compared with old: regressed" in page
    without = rendered(row(value=None, ci_low=None, ci_high=None, verdict="not_comparable"))
    assert "not comparable" in without
    assert "at least 0.6" in rendered(row(kind="min", baseline=None, limit=0.6))
    assert "at most 0.6" in rendered(row(kind="max", baseline=None, limit=0.6))


def test_names_in_gates_are_text() -> None:
    page = rendered(row(system=HOSTILE, baseline=HOSTILE, message=HOSTILE))
    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 3


@pytest.mark.parametrize(
    ("verdict", "passed", "state"),
    [
        ("unchanged", 1, "passed"),
        ("not_enough_data", 1, "not decided"),
        ("not_enough_data", 0, "failed"),
        ("not_comparable", 0, "failed"),
    ],
)
def test_a_gate_without_enough_data_is_not_shown_as_passed(
    verdict: str, passed: int, state: str
) -> None:
    assert gate_state(row(verdict=verdict, passed=passed)) == state
