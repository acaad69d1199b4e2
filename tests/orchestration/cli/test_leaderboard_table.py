"""Leaderboards on the terminal: the order of systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from orchestration.cli.leaderboard_table import in_percent, write_leaderboards

if TYPE_CHECKING:
    import pytest


def row(system: str, evaluator: str, rank: int | None) -> dict[str, Any]:
    """Return a row of the leaderboard for the primary metric of an evaluator."""
    return {
        "benchmark": "b",
        "slice": "all",
        "system": system,
        "evaluator": evaluator,
        "metric": "m",
        "best": "high",
        "mean": None if rank is None else 1 / rank,
        "rank": rank,
        "rank_low": rank,
        "rank_high": rank,
        "tied_with_best": None if rank is None else int(rank == 1),
        "mark": {None: None, 1: "best"}.get(rank, "worse"),
        "is_primary": 1,
        "is_headline": int(evaluator == "telling"),
        "position": 2 - int(evaluator == "telling"),
        "common_mean": None if rank is None else 1 / rank,
        "n": 3,
        "n_not_asked": 0,
        "n_scored": 0 if rank is None else 3,
        "n_not_applicable": 0,
        "n_clusters": 3,
        "n_target_error": 0,
        "coverage": None,
        "gate": None,
    }


def test_systems_are_ordered_by_a_metric_with_ranks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [row("a", "silent", None), row("b", "silent", None), row("a", "telling", 2)]
    write_leaderboards([*rows, row("b", "telling", 1)], "table")
    printed = capsys.readouterr().out
    lines = [line.split()[:2] for line in printed.splitlines()]
    assert lines.index(["1", "b"]) < lines.index(["2", "a"])
    assert "# is the rank by telling.m;" in printed


def test_rates_in_percent(capsys: pytest.CaptureFixture[str]) -> None:
    rate = {"best_value": 1.0, "worst_value": 0.0}
    other = {"best_value": 1.0, "worst_value": -1.0}
    rows = [
        *({**row(system, "telling", at), **rate} for at, system in enumerate("abc", 1)),
        *({**row(system, "other", at), **other} for at, system in enumerate("abc", 1)),
    ]
    write_leaderboards(map(in_percent, rows), "md")
    printed = capsys.readouterr()
    head, _, *systems = [line for line in printed.out.splitlines() if line.startswith("|")]
    assert "telling.m ↑ %" in head
    assert "other.m ↑ |" in head
    assert [line.split("|")[3].split()[0] for line in systems] == ["100.00", "50.00", "33.33"]
    assert [line.split("|")[4].split()[0] for line in systems] == ["1.000", "0.500", "0.333"]
    assert "a (100.00 %)" in printed.out + printed.err
    assert rows[1]["mean"] == 0.5


def test_a_mean_without_variation_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    common = {"passes": None, "ci_low": 0.3, "ci_high": 0.9}
    rows = [
        {**row(system, "telling", at), **common, "ci_method": method}
        for at, (system, method) in enumerate([("a", "t"), ("b", "no_variation")], 1)
    ]
    write_leaderboards(rows, "table")
    assert "No variation seen: all scores of b are equal." in capsys.readouterr().out


def test_ranges_marks_and_coverage_are_those_of_each_metric(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [row("a", "telling", 1), row("b", "telling", 2), row("c", "telling", 3)]
    rows[0] |= {"mark": "tied"}
    rows[1] |= {"mark": "tied", "tied_with_best": 1, "rank_low": 1}
    other = [row("a", "tied", 1), row("b", "tied", 2), row("c", "tied", None)]
    other[0] |= {"mark": "tied"}
    other[1] |= {"mark": "tied", "tied_with_best": 1, "n_scored": 2}
    other[2] |= {"n_not_applicable": 3}
    write_leaderboards([*rows, *other], "table")
    printed = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert "1 a 1.000 * 1.000 3" in lines
    assert "2 (1 to 2) b 0.500 * 0.500 2/3 3" in lines
    assert "3 c 0.333 n/a 3" in lines
    assert "2/3: scored of applicable samples" in printed
    assert (
        "No winner on telling.m: 3 questions are too few for any significant difference between "
        "a (1.000) and b (0.500)."
    ) in printed


def test_n_counts_questions_and_not_the_answers_that_a_metric_of_the_set_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    of_set = [{**row(system, "whole", at), "n": 12} for at, system in enumerate("ab", 1)]
    rows = [row("a", "telling", 1), row("b", "telling", 2), *of_set]
    write_leaderboards(rows, "table")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert any(line.startswith("1 a ") and line.endswith(" 3") for line in lines), lines


def test_chance_level_stands_beside_the_interval(capsys: pytest.CaptureFixture[str]) -> None:
    common = {"passes": None, "ci_low": 0.0, "ci_high": 0.2, "ci_method": "t"}
    rows = [
        {**row(system, "telling", at), **common, "chance": 0.0625}
        for at, system in enumerate("ab", 1)
    ]
    write_leaderboards(rows, "table")
    printed = capsys.readouterr().out
    assert "by chance" in printed
    assert printed.count("0.062") == 2


def test_systems_that_were_asked_other_questions_show_what_ranks_rest_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [row("a", "telling", 1), row("b", "telling", 2)]
    rows += [row("a", "silent", 1), row("b", "silent", 2)]
    write_leaderboards([{**each, "n_not_asked": 0, "n_common": 3} for each in rows], "table")
    assert "asked" not in capsys.readouterr().out
    asked = [{**each, "n_not_asked": int(each["system"] == "b"), "n_common": 2} for each in rows]
    write_leaderboards(asked, "table")
    printed = capsys.readouterr().out
    assert "not asked" in printed
    assert "Ranks rest on the 2 questions that all systems were asked." in printed
    unranked = [{**each, "n_common": 0, "rank": None} for each in asked]
    write_leaderboards(unranked, "table")
    assert "No ranks: no question was asked of all systems." in capsys.readouterr().out
