"""An optional judge: without its key, a run goes on, says so, and is completed by a later one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from evaluators.engines.judge.errors import BadJudgeSettings
from evaluators.engines.judge.settings import SKIPPED
from tests.orchestration.judged_project import JudgedProject, predictions
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from tests.support.judge_server import JudgeServer

KEY = "sk-secret-of-the-optional-judge"
REASON = f"{SKIPPED}the environment variable JUDGE_KEY is not set: export JUDGE_KEY=..."


@pytest.fixture
def project(tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    judge = {
        "model": "openai/a-judge",
        "api_base": server.url,
        "api_key_env": "JUDGE_KEY",
        "optional": True,
    }
    names = ["context_relevancy", "citation"]
    made = JudgedProject(tmp_path / "home", judge, evaluators=names)
    made.write()
    return made


def scoreline(project: JudgedProject, *arguments: str) -> Result:
    result = project.scoreline(*arguments)
    assert KEY not in result.output
    return result


def judged(project: JudgedProject) -> list[tuple[object, ...]]:
    return project.rows(
        "SELECT DISTINCT system, status, reason FROM scores "
        "WHERE evaluator = 'context_relevancy' ORDER BY ALL"
    )


@takes_minutes
def test_a_run_without_the_key_is_completed_by_one_with_it(
    project: JudgedProject, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.predictions.pop("wordy")
    project.write()
    ran = scoreline(project, "run")
    assert ran.exit_code == 0, ran.output
    assert ran.stderr.count(REASON) == 1
    assert "note: rooms: no scores from" in " ".join(ran.stderr.split())
    assert judged(project) == [("plain", "not_applicable", REASON)]
    assert server.count == 0
    signatures = project.rows("SELECT DISTINCT signature FROM scores WHERE evaluator <> 'citation'")
    # Not judged is not up to date: a second run tries again, and says so again.
    assert REASON in scoreline(project, "run").stderr

    monkeypatch.setenv("JUDGE_KEY", KEY)
    ran = scoreline(project, "run")
    assert REASON not in ran.stderr
    assert judged(project) == [("plain", "scored", None)]
    assert signatures == project.rows(
        "SELECT DISTINCT signature FROM scores WHERE evaluator <> 'citation'"
    )
    asked = server.count
    assert "nothing has changed" in scoreline(project, "run").stderr
    assert server.count == asked == 4

    # Without the key again: replies in the ledger still count, only the new system has no score.
    monkeypatch.delenv("JUDGE_KEY")
    new = predictions("wordy")
    for row in new:
        row["contexts"] = [f"The wordy system found this. {row['question_id']}."]
    project.predictions["wordy"] = new
    project.write()
    ran = scoreline(project, "run")
    assert server.count == asked
    assert judged(project) == [("plain", "scored", None), ("wordy", "not_applicable", REASON)]
    assert "no score from context_relevancy for 4 samples" in " ".join(ran.stderr.split())
    gated = scoreline(
        project, "gate", "--system", "wordy", "--baseline", "plain", "--metric", "context_relevancy"
    )
    assert gated.exit_code != 0


def test_plan_and_doctor_say_what_is_skipped(
    project: JudgedProject, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = scoreline(project, "plan", "--format", "json")
    assert REASON in shown.stderr
    assert [row["calls"] for row in json.loads(shown.stdout)] == [0, 0]
    shown = scoreline(project, "doctor", "--format", "json")
    (judge,) = [row for row in json.loads(shown.stdout) if row["subject"] == "judge"]
    assert judge["state"] == "warn"
    assert "JUDGE_KEY is not set" in judge["message"]
    assert judge["message"].endswith("evaluators that need it: context_relevancy")
    assert server.count == 0
    monkeypatch.setenv("JUDGE_KEY", KEY)
    shown = scoreline(project, "plan", "--format", "json")
    assert "note" not in shown.stderr
    assert [row["calls"] for row in json.loads(shown.stdout)] == [4, 0]


def test_a_required_judge_still_ends_the_run(project: JudgedProject) -> None:
    assert project.judge is not None
    del project.judge["optional"]
    project.write()
    ran = scoreline(project, "run")
    assert ran.exit_code == 2
    assert "JUDGE_KEY" in ran.stderr
    project.judge["optional"] = False
    with pytest.raises(BadJudgeSettings, match="JUDGE_KEY"):
        project.run()
