"""`scoreline run` prints one screen, however many benchmarks, systems and problems there are."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from orchestration import starter
from orchestration.cli.leaderboard_table import LeftOut, Table, describe_leaderboard
from tests.orchestration.cli.test_leaderboard_table import row
from tests.support.command import scoreline
from tests.support.services import takes_minutes
from tests.support.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [f"harbour-{letter}" for letter in "abcdefgh"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight benchmarks with 14 systems each and a failed gate."""
    folder = tmp_path_factory.mktemp("many") / "demo"
    starter.write_starter(folder)
    file = folder / "scoreline.yaml"
    content: dict[str, Any] = yaml.safe_load(file.read_text())
    content["benchmarks"] = {name: deepcopy(content["benchmarks"]["harbour"]) for name in NAMES}
    limit = {"metrics": ["citation.f1"], "min": 0.9}
    content["gates"] = [{"benchmark": name, **limit} for name in NAMES[:2]]
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    answers = (folder / "data" / "predictions_reader.jsonl").read_text()
    for number in range(12):
        (folder / "data" / f"predictions_reader{number}.jsonl").write_text(answers)
    ended = scoreline(folder, "run")
    assert ended.code == 1, ended.err
    return folder


def shown(printed: str) -> list[str]:
    return [name for name in NAMES if re.search(rf"^{name}$", printed, re.MULTILINE)]


@takes_minutes
def test_a_run_prints_one_screen(project: Path) -> None:
    printed = on_terminal(project, "run")
    screen = printed[: printed.index("error:")]
    assert len(screen.splitlines()) <= 40
    assert max(map(len, screen.splitlines())) <= 80 or "file://" in screen
    names = shown(printed)
    assert names == NAMES[: len(names)]
    assert 1 <= len(names) <= 5
    assert f"and {8 - len(names)} more benchmarks: scoreline leaderboard\n" in printed
    more = "and 9 more systems, 1 more metric: scoreline leaderboard --benchmark harbour-a"
    assert f"\n{more}\n" in printed
    # Two gates for each of 14 systems fail: the worst problems.
    assert re.search(r"^problems: 28 high, \d+ medium, \d+ low$", screen, re.MULTILINE)
    assert len(re.findall(r"\n  high, harbour-[ab]: citation.f1 of ", screen)) == 3
    assert "\ngates: 28 failed\n" in screen
    error = printed[printed.index("error:") :]
    assert "and 23 more: scoreline sql" in error
    assert len(error.splitlines()) <= 15


@takes_minutes
def test_the_benchmarks_with_new_scores_come_first(project: Path) -> None:
    file = project / "scoreline.yaml"
    content = yaml.safe_load(file.read_text())
    content["benchmarks"]["harbour-g"]["evaluators"].append("rouge")
    del content["gates"]
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    ended = scoreline(project, "run")
    assert ended.out.splitlines()[0] == "harbour-g"
    assert shown(ended.out)[0] == "harbour-a"


@takes_minutes
def test_the_only_failed_gate_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    starter.write_starter(folder)
    file = folder / "scoreline.yaml"
    content = yaml.safe_load(file.read_text())
    content["benchmarks"] = {name: deepcopy(content["benchmarks"]["harbour"]) for name in NAMES[:3]}
    content["gates"] = [{"benchmark": NAMES[2], "metrics": ["citation.f1"], "min": 0.9}]
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    ended = scoreline(folder, "run")
    assert ended.code == 1
    printed = [line for line in ended.out.splitlines() if line in NAMES]
    assert printed == ["harbour-c", "harbour-a"]
    assert ended.out.endswith("\nand 1 more benchmark: scoreline leaderboard\n")


def test_the_short_form_counts_what_it_leaves_out() -> None:
    rows = [row(f"s{rank}", "telling", rank) for rank in range(1, 13)]
    rows += [row(f"s{rank}", "another_evaluator_with_a_long_name", rank) for rank in range(1, 13)]
    rows += [row(f"s{rank}", "a_third_evaluator_with_a_long_name", rank) for rank in range(1, 13)]
    table, *notes = describe_leaderboard(rows, 60, 10)
    assert isinstance(table, Table)
    assert [each[1] for each in table.rows] == [f"s{rank}" for rank in range(1, 11)]
    assert notes[-1] == "2 more systems, 1 more metric"
    assert isinstance(notes[-1], LeftOut)
    whole = list(describe_leaderboard(rows, 60))
    assert sum(isinstance(each, Table) for each in whole) == 2
    assert not any(isinstance(each, LeftOut) for each in whole)
