"""A run with a failed gate publishes its results, fails, and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from orchestration import instance, published
from orchestration.config import load
from orchestration.runs import RunOptions
from orchestration.runs.progress import Progress
from orchestration.runs.run import evaluate
from tests.orchestration.conftest import Ended, scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from assets.project import Project

FAILING = "gates:\n  - {benchmark: harbour, system: keyword, metrics: [citation.f1], min: 0.95}\n"


def write_gates(folder: Path, gates: str) -> Project:
    """Replace the gates of the project."""
    file = folder / "scoreline.yaml"
    head = file.read_text(encoding="utf-8").partition("\ngates:\n")[0].rstrip("\n")
    file.write_text(f"{head}\n{gates}", encoding="utf-8")
    return load.load_config(file).project


def fetch(project: Project, sql: str) -> list[dict[str, Any]]:
    return published.open_copy(project).fetch(sql).to_dicts()


@takes_minutes
def test_a_failed_gate_publishes_its_results(own_project: Path) -> None:
    project = write_gates(own_project, FAILING)
    first = scoreline(own_project, "run")
    again = scoreline(own_project, "run")
    for ended in (first, again):
        assert ended.code == 1
        assert ended.err.splitlines()[-2] == "error: the gate failed; the results are published:"
        assert "  harbour: citation.f1 of keyword is 0." in ended.err.splitlines()[-1]
        assert "but at least 0.95 is required" in ended.err.splitlines()[-1]
        assert "gates: 1 failed" in ended.err.splitlines()
        assert "failed" in ended.out
    assert "nothing has changed since" in again.err
    (row,) = fetch(project, "SELECT * FROM gates")
    assert (row["system"], row["baseline"], row["kind"]) == ("keyword", None, "min")
    assert (row["limit"], row["verdict"], row["passed"]) == (0.95, "missed", 0)
    marked = fetch(
        project, "SELECT DISTINCT system, evaluator, metric, gate FROM leaderboard WHERE gate <> ''"
    )
    assert marked == [
        {"system": "keyword", "evaluator": "citation", "metric": "f1", "gate": "failed"}
    ]
    rows = fetch(project, "SELECT system, gate FROM v_leaderboard WHERE slice = 'all' ORDER BY ALL")
    assert rows == [{"system": "keyword", "gate": "failed"}, {"system": "reader", "gate": None}]
    (problem,) = fetch(project, "SELECT * FROM problems WHERE kind = 'gate'")
    assert (problem["severity"], problem["message"]) == ("high", row["message"])
    assert "Gate failed" in (project.publish / "index.html").read_text(encoding="utf-8")
    # The results that explain the failure are there.
    compared = scoreline(own_project, "compare", "reader", "keyword", "--benchmark", "harbour")
    assert compared.code == 0
    shown = scoreline(own_project, "leaderboard")
    assert shown.code == 0
    assert f"gate failed: harbour: {row['message']}" in shown.err

    # Another limit scores nothing again.
    write_gates(own_project, FAILING.replace("0.95", "0.05"))
    ended = scoreline(own_project, "run")
    assert ended.code == 0, ended.err
    assert "gates: 1 met" in ended.err.splitlines()
    assert "0 scored" in ended.err
    assert fetch(project, "SELECT verdict, passed FROM gates") == [{"verdict": "met", "passed": 1}]
    rows = fetch(project, "SELECT DISTINCT gate FROM leaderboard ORDER BY ALL")
    assert rows == [{"gate": "passed"}, {"gate": None}]
    assert not fetch(project, "SELECT * FROM problems WHERE kind = 'gate'")

    write_gates(own_project, "")
    assert scoreline(own_project, "run").code == 0
    assert not fetch(project, "SELECT * FROM gates")
    assert fetch(project, "SELECT DISTINCT gate FROM leaderboard") == [{"gate": None}]


@takes_minutes
def test_the_run_fails_and_the_check_of_the_leaderboard(own_project: Path) -> None:
    project = write_gates(own_project, FAILING)
    record = evaluate(project, RunOptions(), Progress(), verbose=False)
    (check,) = [check for check in record.checks if check.name == "gate"]
    assert (check.asset, check.passed, check.is_error) == ("leaderboard", False, True)
    assert "citation.f1 of keyword" in str(check.description)
    with instance.open_instance(project) as opened:
        (run,) = opened.get_runs(limit=1)
    # A failed run raises an alert.
    assert run.status is dg.DagsterRunStatus.FAILURE


@takes_minutes
def test_a_failed_gate_does_not_stop_other_benchmarks(own_project: Path) -> None:
    file = own_project / "scoreline.yaml"
    text = file.read_text(encoding="utf-8")
    block = text[text.index("  harbour:\n") :]
    file.write_text(
        text + block.replace("harbour:", "middle:") + block.replace("harbour:", "quay:"),
        encoding="utf-8",
    )
    project = write_gates(own_project, FAILING)
    # Without the one between them, the two take a run each.
    ended = scoreline(own_project, "run", "--benchmark", "harbour", "--benchmark", "quay")
    assert ended.code == 1
    assert "but at least 0.95 is required" in ended.err
    rows = fetch(project, "SELECT DISTINCT benchmark FROM leaderboard ORDER BY ALL")
    assert [row["benchmark"] for row in rows] == ["harbour", "quay"]


@pytest.mark.parametrize("command", ["run", "plan", "doctor"])
def test_a_gate_on_a_system_that_does_not_exist(own_project: Path, command: str) -> None:
    write_gates(own_project, FAILING.replace("keyword", "keywords"))
    ended: Ended = scoreline(own_project, command)
    lines = (own_project / "scoreline.yaml").read_text(encoding="utf-8").splitlines()
    assert ended.code == (1 if command == "doctor" else 2)
    assert (
        f"scoreline.yaml:{len(lines)}: a gate for 'keywords', which is not a system of 'harbour' "
        "(did you mean 'keyword'?)"
    ) in ended.out + ended.err
