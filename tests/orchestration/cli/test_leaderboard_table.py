"""Leaderboards on the terminal: whose order they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from orchestration.cli.leaderboard_table import write_leaderboards

if TYPE_CHECKING:
    import pytest


def row(system: str, evaluator: str, rank: int | None) -> dict[str, Any]:
    """A row of the leaderboard by the primary metric of an evaluator."""
    return {
        "benchmark": "b",
        "slice": "all",
        "system": system,
        "evaluator": evaluator,
        "metric": "m",
        "best": "high",
        "mean": None if rank is None else 1 / rank,
        "rank": rank,
        "n": 3,
        "n_target_error": 0,
        "coverage": None,
    }


def test_systems_stand_in_the_order_of_a_metric_that_ranks_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [row("a", "silent", None), row("b", "silent", None), row("a", "telling", 2)]
    frame = pl.DataFrame([*rows, row("b", "telling", 1)], schema_overrides={"rank": pl.Int64})
    write_leaderboards(frame, "table")
    printed = capsys.readouterr().out
    lines = [line.split()[:2] for line in printed.splitlines()]
    assert lines.index(["1", "b"]) < lines.index(["2", "a"])
    assert "# is the rank by telling.m;" in printed
