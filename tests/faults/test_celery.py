"""A Celery worker that is killed in the middle of the judging, and the run that follows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from orchestration.config import load
from tests import services
from tests.contents import contents
from tests.judge_server import JudgeServer
from tests.orchestration.celery_worker import worker
from tests.orchestration.conftest import scoreline
from tests.orchestration.judged_project import JudgedProject
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

LATENCY_S = 0.3
KEY = {"OPENAI_API_KEY": "none"}


def made(home: Path, server: JudgeServer, executor: str) -> JudgedProject:
    judge = {"model": "openai/a-judge", "api_base": server.url, "concurrency": 2}
    project = JudgedProject(home, judge, more={"execution": {"executor": executor}})
    project.write()
    return project


def tables(project: JudgedProject) -> dict[str, list[tuple[Any, ...]]]:
    return contents(Warehouse(load.read(project.config).project.warehouse))


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:  # noqa: PTH123
        return [int(each) for each in file.read().split()]


@pytest.mark.timeout(900)
def test_a_worker_killed_in_mid_step_costs_its_step_and_no_reply(tmp_path: Path) -> None:
    address = {"SCORELINE_BROKER": services.redis()}
    with JudgeServer() as server:
        undisturbed = made(tmp_path / "undisturbed", server, "in_process")
        assert scoreline(undisturbed.home, "run", **KEY).code == 0
        expected, needed = tables(undisturbed), server.count
    with JudgeServer(latency=LATENCY_S) as server:
        project = made(tmp_path / "killed", server, "celery")
        with worker(project.home, **KEY, **address) as process:
            run = subprocess.Popen(
                [sys.executable, "-m", "orchestration.cli", "run"],
                cwd=project.home,
                env={**os.environ, **address},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            while server.count < needed // 2:
                assert run.poll() is None, run.communicate()
                time.sleep(0.01)
            at_work = children(process.pid)
            # The whole worker, as when its machine goes down: nobody is left to say so.
            process.send_signal(signal.SIGKILL)
            death = time.time()
            # Its processes end with it: none goes on asking unseen.
            while any(os.path.exists(f"/proc/{pid}") for pid in at_work):  # noqa: PTH110
                assert time.time() < death + 10
                time.sleep(0.05)
            _, said = run.communicate(timeout=180)
            assert run.returncode == 2
            assert "does not answer any more" in said
            came = server.count
        with worker(project.home, **KEY, **address):
            done = scoreline(project.home, "run", **address)
            assert done.code == 0, done.err
        asked = Counter(digest for _, digest in server.arrivals)
        assert needed // 2 <= came < needed
        assert len(asked) == needed
        # Only what was under way when it died may be asked again.
        doomed = sum(death - 1 <= at <= death for at, _ in server.arrivals)
        assert sum(asked.values()) - needed <= min(doomed, 2)
    assert tables(project) == expected
