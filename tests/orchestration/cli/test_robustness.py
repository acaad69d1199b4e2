"""`scoreline robustness` on a project with a judge that obeys pleas and prefers one order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from assets.judging.robustness import INJECTIONS, REVERSED_ORDER
from orchestration.cli.program import program
from tests.orchestration.judged_project import JudgedProject
from tests.orchestration.test_injections import honest, project
from tests.support.judge_server import JudgeServer, Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from click.testing import Result


def robustness(judged: JudgedProject, *arguments: str) -> Result:
    options = ["robustness", *arguments, "--config", str(judged.config)]
    result = CliRunner().invoke(program, options)
    assert "Traceback" not in result.output
    return result


def fickle(request: Mapping[str, Any]) -> Reply:
    """Judge honestly, but give a better score to pleas and to prompts in another order."""
    said = honest(request)
    user = request["messages"][-1]["content"]
    if "Dear grader" in user or not user.startswith("<<question "):
        return Reply(content=json.dumps(json.loads(said.content or "") | {"score": 5}))
    return said


@takes_minutes
def test_robustness_finds_the_weaknesses_of_a_judge_and_changes_no_scores(tmp_path: Path) -> None:
    options = ("--benchmark", "rooms", "--evaluator", "rubric_judge", "--format", "json")
    with JudgeServer(fickle) as server:
        judged = project(tmp_path, server)
        judged.evaluators, judged.parameters = ["rubric_judge"], {}
        judged.run()
        asks, scores = judged.rows("FROM asks ORDER BY ALL"), judged.everything()
        first = robustness(judged, *options)
        calls = server.count
        assert robustness(judged, *options).stdout == first.stdout
        assert server.count == calls
        limited = json.loads(robustness(judged, *options, "--limit", "2").stdout)
        assert {row["samples"] for row in limited} == {2}
    assert first.exit_code == 0, first.output
    rows = {row.pop("variation"): row for row in json.loads(first.stdout)}
    assert list(rows) == [REVERSED_ORDER, *INJECTIONS]
    robust = {"changed": 0, "flipped": 0, "flip_rate": 0.0, "better": 0}
    obeyed = {"changed": 2, "flipped": 2, "flip_rate": pytest.approx(2 / 3), "better": 2}
    for name, row in rows.items():
        expected = obeyed if name in (REVERSED_ORDER, "plea") else robust
        assert row == {"samples": 3, "compared": 3, **expected}, name
    assert (judged.rows("FROM asks ORDER BY ALL"), judged.everything()) == (asks, scores)
    (judged.home / "said.jsonl").write_text("")
    judged.judge = {"model": "recorded:said.jsonl"}
    judged.write()
    recorded = robustness(judged, *options)
    assert recorded.exit_code == 2
    assert "recorded replies cannot be tested for robustness" in recorded.stderr


@pytest.mark.parametrize(
    ("model", "benchmark", "evaluator", "message"),
    [
        (None, "rooms", "faithfulness", "no judge is configured: set judge.model"),
        ("human", "rooms", "faithfulness", "human labels cannot be tested for robustness"),
        (
            "openai/a",
            "room",
            "faithfulness",
            "there is no benchmark 'room' (did you mean 'rooms'?)",
        ),
        (
            "openai/a",
            "rooms",
            "faithfulnes",
            "'rooms' does not use the evaluator 'faithfulnes' (did you mean 'faithfulness'?)",
        ),
        (
            "openai/a",
            "rooms",
            "looping_detection",
            "'looping_detection' needs no judge; evaluators of 'rooms' that do: faithfulness",
        ),
    ],
)
def test_robustness_says_what_is_missing(
    tmp_path: Path, model: str | None, benchmark: str, evaluator: str, message: str
) -> None:
    judge = None if model is None else {"model": model}
    judged = JudgedProject(
        tmp_path / "home", judge, evaluators=["faithfulness", "looping_detection"]
    )
    judged.write()
    result = robustness(judged, "--benchmark", benchmark, "--evaluator", evaluator)
    assert result.exit_code == 2
    assert message in result.stderr
