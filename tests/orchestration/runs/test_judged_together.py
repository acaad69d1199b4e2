"""Runs with several judged evaluators: parallel calls, shared calls, separate results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.judging.dry_run import ingested_copy, plan_run
from orchestration.cli.finished_run import describe_judge_calls
from tests.orchestration.judged_project import JudgedProject, predictions
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from orchestration.runs.events import RunRecord

pytestmark = takes_minutes

SAMPLES = 8


def judge(server: JudgeServer) -> dict[str, object]:
    return {"model": "openai/a-judge", "api_base": server.url}


def told(record: RunRecord, what: str) -> dict[str, int]:
    """One number of what the assets `judgments/...` report, by evaluator."""
    return {
        key.partition("/")[2]: reported[what]
        for (key, _), reported in record.metadata.items()
        if key.startswith("judgments/")
    }


def test_evaluators_call_the_judge_in_parallel(tmp_path: Path) -> None:
    # Four of context_relevancy, as both systems retrieve the same, and eight of faithfulness.
    first = SAMPLES // 2 + SAMPLES
    with JudgeServer(gate=first) as server:
        project = JudgedProject(tmp_path / "home", judge(server))
        record = project.run()
        assert server.most == first
    assert told(record, "judge calls") == {"context_relevancy": 4, "faithfulness": 16}
    assert told(record, "replies from the ledger") == {"context_relevancy": 0, "faithfulness": 0}


def test_a_call_shared_by_two_evaluators_is_planned_and_paid_once(tmp_path: Path) -> None:
    with JudgeServer(latency=0.2) as server:
        project = JudgedProject(
            tmp_path / "home", judge(server), evaluators=["faithfulness", "context_recall"]
        )
        answers = predictions("plain")
        for row, question in zip(answers, project.questions, strict=True):
            # Both evaluators take the same text apart: the answer, and what is expected.
            row["answer"] = question["expected_answer"]
        project.predictions = {"plain": answers}
        with ingested_copy(project.project(), ["rooms"]) as copy:
            planned = {
                each.evaluator: each.calls for each in plan_run(project.project(), copy, ["rooms"])
            }
        record = project.run()
    asked = told(record, "judge calls")
    assert asked == planned
    assert sorted(asked.values()) == [4, 8]
    assert sorted(told(record, "replies from the ledger").values()) == [0, 4]
    # Whoever repairs a reply is sent more than one message for one question.
    assert project.rows("SELECT count(*) FROM judgments") == [(12,)]
    assert project.rows("SELECT count(*), count(DISTINCT digest) FROM asks") == [(16, 12)]
    line = describe_judge_calls(record)
    assert line is not None
    assert line.startswith("judge: 12 calls, ")
    assert ", 4 from the ledger; " in line
