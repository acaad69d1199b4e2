"""A run on a lake that is killed in the middle of a step, and a PostgreSQL that goes away.

A lake differs from a file in what a killed process leaves behind: an open transaction, a lock, and
claims on judge calls, all of them in PostgreSQL.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.faults.postgres import PASSWORD, Server, server
from tests.faults.test_lake_partition import (
    ENDS_S,
    ended_within,
    on_lake,
    published,
    undisturbed,
    until,
)
from tests.support.judge_server import JudgeServer
from tests.support.services import POSTGRES, takes_longest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from tests.faults.trial import Trial

__all__ = ["undisturbed"]

CONCURRENCY = 2
MOMENTS = ("write", "judge", "write")
AWAY_S = 10.0


@takes_longest
@pytest.mark.timeout(1800)
def test_a_run_that_is_killed_again_and_again_loses_nothing(
    postgres_database: str,
    tmp_path: Path,
    undisturbed: tuple[dict[str, list[object]], int],
) -> None:
    expected, needed = undisturbed
    with JudgeServer(latency=0.1) as judge:
        trial = on_lake(tmp_path / "home", judge, postgres_database, int(POSTGRES["port"]))
        for moment in MOMENTS:
            with trial.start() as run:
                until(moment, run, postgres_database, judge)
                run.kill()
                run.communicate()
        code, _, err = trial.ended()
        assert code == 0, err
        assert published(trial) == expected
        asked = Counter(digest for _, digest in judge.arrivals)
    assert len(asked) == needed
    # A kill loses at most the calls that were under way.
    assert sum(asked.values()) <= needed + len(MOMENTS) * CONCURRENCY


@pytest.fixture
def postgres(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A PostgreSQL that may be stopped."""
    with server() as made:
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        yield made


@pytest.mark.timeout(1800)
@takes_longest
def test_a_run_waits_for_a_postgresql_that_is_away_for_a_while(
    postgres: Server,
    tmp_path: Path,
    undisturbed: tuple[dict[str, list[object]], int],
) -> None:
    expected, needed = undisturbed
    with JudgeServer(latency=0.1) as judge:
        trial = own_server(tmp_path / "home", judge, postgres)
        with trial.start() as run:
            until_asked(run, judge)
            postgres.stop()
            back = threading.Timer(AWAY_S, postgres.start)
            back.start()
            try:
                _, err = ended_within(run, ENDS_S)
            finally:
                back.join()
        assert run.returncode == 0, err
        assert published(trial) == expected
        assert judge.count == needed


def own_server(home: Path, judge: JudgeServer, postgres: Server) -> Trial:
    """A project whose lake is in a server of its own."""
    trial = on_lake(home, judge, "postgres", postgres.port)
    warehouse = trial.more["warehouse"]
    warehouse["catalog"] = f"ducklake:postgres:{postgres.catalog}"
    trial.write()
    return trial


def until_asked(run: subprocess.Popen[str], judge: JudgeServer) -> None:
    """Wait until the judge has been asked a few questions."""
    while judge.count < 3:
        assert run.poll() is None, run.communicate()
        time.sleep(0.005)
