"""An automated run whose judge is unreachable at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets.judging import budget
from orchestration import definitions, instance
from orchestration.instance import process_tags
from orchestration.jobs import EVALUATE, range_tags
from orchestration.runs import RunOptions
from orchestration.runs.run import build_run_config
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


@takes_minutes
def test_the_second_attempt_of_the_step_calls_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "FIRST_PAUSE_S", 1)
    with JudgeServer() as server:
        port = server.port
    # Nobody listens there now; somebody does as soon as the first attempt has failed.
    judge = {
        "model": "openai/a-judge",
        "api_base": f"http://127.0.0.1:{port}/v1",
        "budget_usd": 1.0,
        "usd_per_million_in": 1.0,
        "usd_per_million_out": 1.0,
    }
    home = JudgedProject(tmp_path / "home", judge, evaluators=["context_relevancy"])
    project = home.project()
    later = JudgeServer(port=port)
    again = budget.retry_request

    def come_up(tags: dict[str, str], retry: int) -> dg.RetryRequested | None:
        later.__enter__()
        return again(tags, retry)

    monkeypatch.setattr("assets.judging.asset.retry_request", come_up)
    job = definitions.build_definitions(project, None).resolve_job_def(EVALUATE)
    tags = {
        **range_tags("rooms", "rooms"),
        **process_tags(),
        budget.AUTOMATED_TAGS[0]: "test",
    }
    with instance.open_instance(project) as opened:
        try:
            result = job.execute_in_process(
                instance=opened, run_config=build_run_config(job, RunOptions(), ()), tags=tags
            )
            retried = [
                event.step_key
                for event in result.all_events
                if event.event_type is dg.DagsterEventType.STEP_UP_FOR_RETRY
            ]
        finally:
            later.stop()
    assert retried == ["judge"]
    assert later.count == 4
    assert home.statuses() == {"scored": 8}
