"""A judged run that is killed at any moment goes on where it was, and ends as if undisturbed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.judge_server import JudgeServer
from tests.orchestration.judged_project import JudgedProject

KILLS = int(os.environ.get("SCORELINE_KILLS", "2"))
LATENCY = 0.1

pytestmark = pytest.mark.xdist_group("litellm")


def _judge(server: JudgeServer) -> dict[str, object]:
    return {"model": "openai/a-judge", "api_base": server.url, "concurrency": 2}


def _started(project: JudgedProject) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "orchestration.cli", "run", "--config", str(project.config)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OPENAI_API_KEY": "none", "DAGSTER_DISABLE_TELEMETRY": "yes"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.timeout(300)
def test_a_run_that_is_killed_is_resumed_and_pays_for_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with JudgeServer() as server:
        undisturbed = JudgedProject(tmp_path / "undisturbed", _judge(server))
        undisturbed.run()
        expected, needed = undisturbed.everything(), server.count
    chance = random.Random(7)
    with JudgeServer(latency=LATENCY) as server:
        killed = JudgedProject(tmp_path / "killed", _judge(server))
        killed.write()
        deaths = []
        for _ in range(KILLS):
            goal = server.count + chance.randint(1, max(1, needed // (KILLS + 1)))
            with _started(killed) as process:
                while server.count < goal and process.poll() is None:
                    time.sleep(0.005)
                time.sleep(chance.random() * LATENCY)
                process.kill()
            deaths.append(time.time())
        with _started(killed) as process:
            assert process.wait() == 0
        arrivals = server.arrivals
    assert killed.everything() == expected
    asked = Counter(digest for _, digest in arrivals)
    assert len(asked) == needed
    # Only what was under way, or came in the last second before a kill, may be asked again.
    doomed = sum(any(death - 1 <= at <= death for death in deaths) for at, _ in arrivals)
    assert sum(asked.values()) - needed <= doomed
    assert killed.rows("SELECT count(*) FROM judgments") == [(needed,)]
