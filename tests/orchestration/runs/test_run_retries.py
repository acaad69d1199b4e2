"""The daemon starts a killed run again, and the result is the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.orchestration.conftest import scoreline
from tests.orchestration.daemon import interface, until
from tests.orchestration.story_project import BENCHMARKS, StoryProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_longest

CONCURRENCY = 2


pytestmark = [pytest.mark.timeout(1200), takes_longest]


@pytest.mark.parametrize("execution", [{"executor": "in_process"}, {"executor": "multiprocess"}])
def test_a_killed_run_starts_again(tmp_path: Path, execution: dict[str, Any]) -> None:
    calm, killed = StoryProject(tmp_path / "calm"), StoryProject(tmp_path / "killed")
    with JudgeServer() as judge:
        calm.home.mkdir()
        calm.write(judge.url)
        assert scoreline(calm.home, "run").code == 0
        needed = judge.count
    with JudgeServer(latency=0.05) as judge:
        killed.home.mkdir()
        killed.write(judge.url)
        document = yaml.safe_load(killed.config.read_text(encoding="utf-8"))
        document["judge"]["concurrency"] = CONCURRENCY
        document["execution"] = execution
        killed.config.write_text(yaml.safe_dump(document), encoding="utf-8")
        with interface(killed.home) as dev:
            first = dev.launch(*BENCHMARKS)
            until("the first replies of the judge", lambda: judge.count > 3 * CONCURRENCY)
            # In the middle of the step, which would go on as soon as it had its replies.
            with judge.held():
                os.kill(dev.process(first), signal.SIGKILL)
                until("its end", lambda: dev.status(first) == "FAILURE")
            until("its retry", lambda: [r["status"] for r in dev.runs()] == ["SUCCESS", "FAILURE"])
            again = dev.runs()[0]
            assert again["tags"]["dagster/parent_run_id"] == first
            assert again["tags"]["dagster/retry_number"] == "1"
            # Nor did a step go on that had a process of its own.
            assert dev.steps(first)["judge"][1] is None
            # What was done is not done again; the files were read.
            assert "ingest" in dev.steps(first)
            assert "ingest" not in dev.steps(again["runId"])
    assert killed.everything() == calm.everything()
    asked = [digest for _, digest in judge.arrivals]
    assert len(set(asked)) == needed
    # Only what was under way may be asked again.
    assert len(asked) - needed <= CONCURRENCY


def test_a_run_killed_with_the_machine_starts_again(tmp_path: Path) -> None:
    project = StoryProject(tmp_path)
    with JudgeServer() as judge:
        project.write(judge.url)
        with interface(project.home) as dev, judge.held():
            first = dev.launch(*BENCHMARKS)
            until("a question to the judge", lambda: judge.count)
            process = dev.process(first)
            dev.kill()
            until("the end of its process", lambda: not Path(f"/proc/{process}").exists())
        with interface(project.home) as dev:
            # No process is left that could say so, and one run at a time may be under way.
            assert dev.status(first) == "FAILURE"
            until("its retry", lambda: [r["status"] for r in dev.runs()] == ["SUCCESS", "FAILURE"])
            assert dev.runs()[0]["tags"]["dagster/parent_run_id"] == first
    assert project.rows("SELECT DISTINCT benchmark FROM leaderboard ORDER BY ALL") == [
        (name,) for name in BENCHMARKS
    ]
