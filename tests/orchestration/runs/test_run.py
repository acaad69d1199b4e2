"""Which partitions and assets a run covers."""

from __future__ import annotations

import dagster as dg
import pytest

from orchestration.jobs import contiguous_ranges
from orchestration.runs import RunOptions
from orchestration.runs.run import select_assets

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
    ("selected", "expected"),
    [
        ("abcde", [("a", "e")]),
        ("c", [("c", "c")]),
        ("ace", [("a", "a"), ("c", "c"), ("e", "e")]),
        ("edba", [("a", "b"), ("d", "e")]),
        ("", []),
    ],
)
def test_contiguous_ranges(selected: str, expected: list[tuple[str, str]]) -> None:
    assert list(contiguous_ranges("abcde", selected)) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RunOptions(), {"judgments/faithfulness", "scores/citation", "scores/faithfulness"}),
        (RunOptions(judge=False), {"scores/citation", "scores/faithfulness"}),
        (RunOptions(evaluators=("citation",)), {"scores/citation"}),
        (
            RunOptions(evaluators=("faithfulness",)),
            {"judgments/faithfulness", "scores/faithfulness"},
        ),
    ],
)
def test_select_assets(options: RunOptions, expected: set[str]) -> None:
    found = {key.to_user_string() for key in select_assets(KEYS, options)}
    assert found == STAGES | expected
