"""A judged run that is killed at any moment continues, with the same result."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from orchestration.config import load
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_longest
from warehouse.ledger.open import ledger_file

KILLS = int(os.environ.get("SCORELINE_KILLS", "2"))
LATENCY = 0.1


def _judge(server: JudgeServer) -> dict[str, object]:
    return {"model": "openai/a-judge", "api_base": server.url, "concurrency": 2}


def _started(project: JudgedProject) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "orchestration.cli", "run", "--config", str(project.config)],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "OPENAI_API_KEY": "none", "DAGSTER_DISABLE_TELEMETRY": "yes"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _kept(project: JudgedProject) -> set[str]:
    """What the ledger of the project has replies to, as the server calls it."""
    warehouse = load.load_config(project.config).project.warehouse
    with closing(sqlite3.connect(ledger_file(Path(str(warehouse))))) as connection:
        found = connection.execute("SELECT messages FROM ledger_judgments").fetchall()
    rows = [json.loads(messages) for (messages,) in found]
    shown = [json.dumps(messages, sort_keys=True).encode() for messages in rows]
    return {hashlib.sha256(each).hexdigest() for each in shown}


@takes_longest
@pytest.mark.timeout(900)
def test_a_killed_run_resumes_and_pays_for_nothing_twice(
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
        kept = []
        for _ in range(KILLS):
            goal = server.count + chance.randint(1, max(1, needed // (KILLS + 1)))
            with _started(killed) as process:
                while server.count < goal and process.poll() is None:
                    time.sleep(0.005)
                time.sleep(chance.random() * LATENCY)
                process.kill()
            kept.append((server.count, _kept(killed)))
        with _started(killed) as process:
            assert process.wait() == 0
        arrivals = server.arrivals
    assert killed.everything() == expected
    assert len({digest for _, digest in arrivals}) == needed
    # A request may still be on its way when its process is killed, but none for what is kept.
    assert kept[-1][1]
    for count, digests in kept:
        assert not digests & {digest for _, digest in arrivals[count:]}
    assert killed.rows("SELECT count(*) FROM judgments") == [(needed,)]
