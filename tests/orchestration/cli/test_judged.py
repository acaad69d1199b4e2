"""`scoreline plan` and `scoreline run` with a judge: output, files and exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.judge_server import JudgeServer, Said
from tests.orchestration.judged_project import JudgedProject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

KEY = "sk-secret-of-the-command"
SAMPLES = 8
QUESTIONS = SAMPLES // 2  # both systems retrieve the same passages
PRICES = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    judge = {
        "model": "openai/a-judge",
        "api_base": server.url,
        "api_key_env": "JUDGE_KEY",
        "max_attempts": 1,
        **PRICES,
    }
    project = JudgedProject(tmp_path / "home", judge, evaluators=["context_relevancy"])
    project.write()
    return project


def scoreline(project: JudgedProject, *arguments: str) -> Result:
    result = CliRunner().invoke(program, [*arguments, "--config", str(project.config)])
    assert KEY not in result.output
    assert "Traceback" not in result.output
    return result


def planned(project: JudgedProject) -> dict[str, Any]:
    result = scoreline(project, "plan", "--format", "json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    return dict(row)


def test_plan_before_and_after_the_run(project: JudgedProject, server: JudgeServer) -> None:
    before = planned(project)
    assert (before["benchmark"], before["evaluator"]) == ("rooms", "context_relevancy")
    assert (before["samples"], before["calls"], before["held"]) == (SAMPLES, QUESTIONS, 0)
    assert before["usd"] == pytest.approx((before["tokens_in"] + 2 * before["tokens_out"]) / 1e6)
    assert server.count == len(server.probes) == 0
    assert sorted(path.name for path in project.home.iterdir()) == [
        *("plain.answers.jsonl", "questions.jsonl", "scoreline.yaml", "wordy.answers.jsonl"),
    ]
    ran = scoreline(project, "run")
    assert ran.exit_code == 0, ran.output
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("judge: ")]
    assert line.startswith(f"judge: {QUESTIONS} calls; ")
    ((tokens, cost),) = project.rows(
        "SELECT sum(tokens_in + tokens_out)::INT, sum(cost_usd) FROM judgments"
    )
    assert line.endswith(f"{tokens:,} tokens; {cost:.4f} US dollars")
    after = planned(project)
    assert (after["samples"], after["calls"], after["usd"]) == (0, 0, 0)
    assert server.count == QUESTIONS
    table = scoreline(project, "plan").stdout
    assert table.splitlines()[-1] == "0 samples to score, 0 judge calls."
    again = scoreline(project, "run", "--force")
    assert "judge: " not in again.stderr


def test_plan_without_price(project: JudgedProject) -> None:
    assert project.judge is not None
    for name in PRICES:
        del project.judge[name]
    project.write()
    assert planned(project)["usd"] is None
    last = scoreline(project, "plan").stdout.splitlines()[-1]
    assert "the price is unknown" in last
    assert f"{SAMPLES} samples to score, {QUESTIONS} judge calls" in last


def test_no_judge_calls_with_no_judge(project: JudgedProject, server: JudgeServer) -> None:
    ran = scoreline(project, "run", "--no-judge")
    assert ran.exit_code == 0, ran.output
    assert server.count == len(server.probes) == 0
    assert "judge: " not in ran.stderr
    assert project.statuses() == {"judge_error": SAMPLES}


def test_unusable_replies_are_counted(project: JudgedProject, server: JudgeServer) -> None:
    server.script = lambda _: Said(content="I would rather not say.")
    ran = scoreline(project, "run")
    assert ran.exit_code == 0, ran.output
    assert f"judge: {QUESTIONS} calls, {QUESTIONS} without a usable reply; " in ran.stderr


@pytest.mark.parametrize("wrong", ["key", "down"])
def test_unreachable_judge_ends_the_run_with_one_line(project: JudgedProject, wrong: str) -> None:
    assert project.judge is not None
    refused = Said(status=401, content=f"Incorrect API key provided: {KEY}")
    with JudgeServer(probe=lambda _: refused) as server:
        project.judge["api_base"] = server.url
        project.write()
        if wrong == "down":
            server.stop()
        ran = scoreline(project, "run")
        assert server.count == 0
    assert (ran.exit_code, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    told = "error: the judge refuses the key: " if wrong == "key" else "error: the judge "
    assert line.startswith(told)
    assert ("does not answer" in line) == (wrong == "down")
