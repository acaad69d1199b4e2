"""A judge that is down at first and up when it is tried again, in a run that nobody waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets.judging import budget
from orchestration import definitions, instance
from orchestration.automation.partition_ranges import range_tags
from orchestration.executors import orphans
from orchestration.jobs import EVALUATE
from orchestration.runs.filters import Choices
from orchestration.runs.run import run_config
from tests.judge_server import JudgeServer
from tests.orchestration.judged_project import JudgedProject

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_it_is_asked_in_the_second_attempt_of_the_step(
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
    again = budget.again_later

    def come_up(tags: dict[str, str], retry: int) -> dg.RetryRequested | None:
        later.__enter__()
        return again(tags, retry)

    monkeypatch.setattr("assets.judging.asset.again_later", come_up)
    job = definitions.build(project, None).resolve_job_def(EVALUATE)
    tags = {**range_tags("rooms", "rooms"), **orphans.process_tags(), budget.NOBODY[0]: "test"}
    with instance.opened(project) as opened:
        try:
            result = job.execute_in_process(
                instance=opened, run_config=run_config(job, Choices(), ()), tags=tags
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
