"""Runs with `pairwise_judge`: what a run stores, and what later runs ask again."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer
from tests.support.pairwise_systems import (
    LEVELS,
    QUESTIONS,
    answers,
    broken,
    counts,
    expected_outcomes,
    honest,
)
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(honest) as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, server: JudgeServer) -> JudgedProject:
    judge = {"model": "openai/a-judge", "api_base": server.url, "max_attempts": 1}
    questions = [
        {"question_id": f"q{number}", "question": f"What about {number}?"}
        for number in range(QUESTIONS)
    ]
    made = JudgedProject(
        tmp_path / "home",
        judge,
        evaluators=["pairwise_judge"],
        questions=questions,
        predictions={system: answers(system) for system in LEVELS},
    )
    made.write()
    return made


def pairwise(project: JudgedProject) -> dict[tuple[str, str], tuple[int, ...]]:
    rows = project.rows("SELECT system_a, system_b, wins_a, wins_b, ties FROM pairwise")
    return {(one, other): tuple(numbers) for one, other, *numbers in rows}


@takes_minutes
def test_a_plan_and_its_run(project: JudgedProject, server: JudgeServer) -> None:
    arguments = ["--config", str(project.config)]
    planned = CliRunner().invoke(program, ["plan", *arguments, "--format", "json"])
    assert planned.exit_code == 0, planned.output
    (plan,) = json.loads(planned.stdout)
    # Two calls for each pair and question, though both systems' samples need them.
    assert plan["calls"] == 2 * 3 * QUESTIONS
    assert not server.requests
    ran = CliRunner().invoke(program, ["run", *arguments])
    assert ran.exit_code == 0, ran.output
    assert len(server.requests) == plan["calls"]
    expected = expected_outcomes(project.predictions)
    assert pairwise(project) == {pair: counts(each) for pair, each in expected.items()}
    query = "SELECT system_a, system_b, wins_a, wins_b, ties FROM pairwise"
    published = CliRunner().invoke(program, ["sql", query, *arguments, "--format", "json"])
    assert {
        (row["system_a"], row["system_b"]): (row["wins_a"], row["wins_b"], row["ties"])
        for row in json.loads(published.stdout)
    } == pairwise(project)
    shown = CliRunner().invoke(
        program,
        ["leaderboard", *arguments, "--metric", "pairwise_judge.strength", "--format", "json"],
    )
    rows = json.loads(shown.stdout)
    assert [row["system"] for row in rows] == ["good", "fair", "weak"]
    assert all(row["ci_low"] < row["mean"] < row["ci_high"] for row in rows)
    assert_report_shows_the_matrix(project, rows)


def assert_report_shows_the_matrix(project: JudgedProject, strengths: list[dict[str, Any]]) -> None:
    (page,) = (project.home / "published" / "report").glob("rooms-*/index.html")
    section = page.read_text(encoding="utf-8").partition('id="pairwise"')[2].partition("</section>")
    wins, losses, ties = pairwise(project)["good", "weak"]
    share = (wins + ties / 2) / QUESTIONS
    cell = re.search(rf'title="{wins} wins?, {losses} loss(es)?, {ties} ties?">([^<]*)', section[0])
    assert cell is not None
    assert cell[2] == f"{share:.2f}"
    for row in strengths:
        assert f"{row['mean']:.2f} ({row['ci_low']:.2f} to {row['ci_high']:.2f})" in section[0]
    assert f"in 0 of {3 * QUESTIONS} comparisons (0.0 %)." in section[0]


@takes_minutes
def test_later_runs_ask_only_what_changed(project: JudgedProject, server: JudgeServer) -> None:
    server.script = broken(project.predictions["fair"][2]["answer"])
    project.run()
    lost = project.rows(
        "SELECT DISTINCT question_id, value, status FROM scores WHERE status <> 'scored'"
    )
    # An error of the judge is no loss, and takes no game from the other two systems.
    assert lost == [("q2", None, "judge_error")]
    games = {pair: sum(outcomes) for pair, outcomes in pairwise(project).items()}
    assert games["good", "weak"] == QUESTIONS
    assert games["fair", "good"] == games["fair", "weak"] == QUESTIONS - 1
    server.script, asked = honest, len(server.requests)
    project.run()
    # Only the four calls that failed are made again.
    assert len(server.requests) == asked + 4
    assert project.statuses() == {"scored": 2 * 3 * QUESTIONS}
    before = project.everything()
    project.run(force=True)
    assert len(server.requests) == asked + 4
    assert project.everything() == before
    project.predictions["fair"][3]["answer"] = "Worth 9 (fair, corrected)."
    project.run()
    # The corrected answer meets two opponents in both orders.
    assert len(server.requests) == asked + 8
    expected = expected_outcomes(project.predictions)
    assert pairwise(project) == {pair: counts(each) for pair, each in expected.items()}
    project.predictions.pop("weak")
    project.run()
    assert len(server.requests) == asked + 8
    assert pairwise(project) == {("fair", "good"): counts(expected["fair", "good"])}
