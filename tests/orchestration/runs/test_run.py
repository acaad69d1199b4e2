"""What a run is narrowed to: stretches of partitions and selections of assets."""

from __future__ import annotations

import dagster as dg
import pytest

from orchestration.runs.filters import Choices
from orchestration.runs.run import selected, stretches

KEYS = [
    dg.AssetKey(path)
    for path in (
        ["questions"],
        ["predictions"],
        ["judgments", "faithfulness"],
        ["scores", "citation"],
        ["scores", "faithfulness"],
        ["leaderboard"],
        ["published"],
    )
]
STAGES = {"questions", "predictions", "leaderboard", "published"}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("abcde", [("a", "e")]),
        ("c", [("c", "c")]),
        ("ace", [("a", "a"), ("c", "c"), ("e", "e")]),
        ("edba", [("a", "b"), ("d", "e")]),
        ("", []),
    ],
)
def test_stretches(wanted: str, expected: list[tuple[str, str]]) -> None:
    assert list(stretches("abcde", wanted)) == expected


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        (Choices(), {"judgments/faithfulness", "scores/citation", "scores/faithfulness"}),
        (Choices(judge=False), {"scores/citation", "scores/faithfulness"}),
        (Choices(evaluators=("citation",)), {"scores/citation"}),
        (
            Choices(evaluators=("faithfulness",)),
            {"judgments/faithfulness", "scores/faithfulness"},
        ),
    ],
)
def test_selected(choices: Choices, expected: set[str]) -> None:
    found = {key.to_user_string() for key in selected(KEYS, choices)}
    assert found == STAGES | expected
