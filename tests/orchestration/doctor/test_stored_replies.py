"""Stored replies: their checksums, what `doctor` says of them, and that each paid call is one."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.orchestration.asked_project import AskedProject
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer, faithful

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from click.testing import Result

    from tests.support.scripted_reply import Reply

PRICES = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}
CALLS = 4
"""Both systems retrieve the same passages."""


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, server: JudgeServer) -> JudgedProject:
    judge = {"model": "openai/judge", "api_base": server.url, "max_attempts": 1, **PRICES}
    project = JudgedProject(tmp_path / "home", judge, evaluators=["context_relevancy"])
    project.write()
    return project


def scoreline(project: JudgedProject, *arguments: str) -> Result:
    result = CliRunner().invoke(program, [*arguments, "--config", str(project.config)])
    assert "Traceback" not in result.output
    return result


def diagnosis(project: JudgedProject) -> tuple[str, str]:
    found = json.loads(scoreline(project, "doctor", "--format", "json").stdout)
    ((state, message),) = [
        (each["state"], each["message"]) for each in found if each["subject"] == "ledger"
    ]
    return state, message


def test_all_that_is_billed_is_recorded(project: JudgedProject, server: JudgeServer) -> None:
    billed = 0.0

    def counting(request: dict[str, Any]) -> Reply:
        nonlocal billed
        said = faithful(request)
        tokens_in, tokens_out = said.usage
        billed += (tokens_in * 1.0 + tokens_out * 2.0) / 1e6
        return said

    server.script = counting
    assert scoreline(project, "doctor").exit_code == 0
    assert server.count == 1
    assert scoreline(project, "run").exit_code == 0
    assert server.count == 1 + CALLS
    assert scoreline(project, "doctor").exit_code == 0
    assert server.count == 2 + CALLS
    project.write()
    scoreline(project, "run", "--force")
    assert server.count == 2 + CALLS
    rows = project.rows("SELECT sum(cost_usd), sum(attempts)::INT FROM judgments")
    assert rows == [(pytest.approx(billed), 2 + CALLS)]


def test_a_damaged_reply_is_named_and_made_again(
    project: JudgedProject, server: JudgeServer
) -> None:
    scoreline(project, "run")
    assert diagnosis(project)[0] == "ok"
    file = next(project.home.rglob("*.ledger"))
    connection = sqlite3.connect(file)
    ((digest, reply),) = connection.execute(
        "SELECT digest, reply FROM ledger_judgments ORDER BY digest LIMIT 1"
    ).fetchall()
    # Another key in the reply: it could be parsed, and would give another score.
    connection.execute(
        "UPDATE ledger_judgments SET reply = ? WHERE digest = ?", (reply.replace("a", "b"), digest)
    )
    connection.commit()
    connection.close()
    state, message = diagnosis(project)
    assert state == "fail"
    assert f"1 of {CALLS + 1} stored replies are damaged: {digest[:12]} of openai/judge" in message
    before = server.count
    before_scores = project.everything()
    again = scoreline(project, "run", "--retry")
    assert again.exit_code == 0
    assert server.count == before + 1
    assert project.everything() == before_scores
    assert diagnosis(project)[0] == "ok"


@pytest.mark.parametrize("ran_before", [False, True])
def test_a_judge_without_its_key_ends_the_run_before_a_system_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran_before: bool
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    project = AskedProject(tmp_path, systems={"rag": {"python": "my_rag.py:cited"}})
    if ran_before:
        assert project.scoreline("run").code == 0
        project.asked()
        project.questions = [{**each, "question": "Why?"} for each in project.questions]
    project.benchmark["evaluators"] = ["faithfulness"]
    project.judge = {"model": "openai/gpt-4o-mini"}
    if ran_before:
        project.judge["api_key_env"] = "JUDGE_KEY"
    ended = project.scoreline("run")
    assert ended.code == 2
    assert ("JUDGE_KEY" if ran_before else "OPENAI_API_KEY") in ended.err
    assert project.asked() == {}
    if not ran_before:
        assert not (tmp_path / "published").exists()
