"""A run whose connection to the catalogue is lost: it goes on or ends with a message, in minutes.

Three faults: packets vanish in both directions, packets are acknowledged but never answered, and
connections are reset. Each strikes while a transaction is under way, or while a judge is asked.
"""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from tests.faults.proxy import Proxy, proxy
from tests.faults.test_lake import writing
from tests.faults.trial import Trial
from tests.judge_server import JudgeServer
from tests.lakes import fresh
from tests.services import POSTGRES, takes_longest
from tests.warehouse.conftest import ids, questions
from warehouse.errors import WarehouseUnreachable
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOST_S = 40.0
"""After this long, a lost connection has been noticed: by TCP in 10 s, by the watchdog in 30 s."""
ENDS_S = 420.0
"""A run has ended after this long: it notices, tries again for a while, and stops."""
SHORT_S = 12.0
"""Long enough for TCP to give up, and shorter than the half minute for which a run waits."""
KEPT = ("judgments", "asks", "signatures", "leaderboard_history", "validations")
"""Tables that keep what earlier runs did."""


@pytest.fixture
def between() -> Iterator[Proxy]:
    with proxy(POSTGRES["host"], int(POSTGRES["port"])) as made:
        yield made


def on_lake(home: Path, server: JudgeServer, database: str, port: int) -> Trial:
    """A project whose warehouse is a lake."""
    trial = Trial(home, server)
    where = f"dbname={database} host=127.0.0.1 port={port} user={POSTGRES['user']}"
    trial.more = {
        "warehouse": {
            "catalog": f"ducklake:postgres:{where}",
            "catalog_schema": f"lake_{uuid4().hex[:12]}",
        }
    }
    trial.write()
    return trial


def until(moment: str, run: subprocess.Popen[str], database: str, server: JudgeServer) -> None:
    """Wait until a run writes, or asks its judge."""
    while True:
        if moment == "write" and run.pid in writing(database):
            return
        if moment == "judge" and server.count >= 3:
            return
        assert run.poll() is None, run.communicate()
        time.sleep(0.005)


def ended_within(run: subprocess.Popen[str], seconds: float) -> tuple[str, str]:
    """What a run prints, if it ends in time."""
    try:
        return run.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        run.kill()
        _, err = run.communicate()
        pytest.fail(f"still running after {seconds:g} s: {err}")


def published(trial: Trial) -> dict[str, list[object]]:
    """What a project has published, without what tells of earlier runs."""
    tables = trial.tables(trial.home / "published" / "scoreline.duckdb")
    return {name: rows for name, rows in tables.items() if name not in KEPT}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, list[object]], int]:
    """What the project publishes where nothing happens, and how many calls it makes."""
    with JudgeServer() as server:
        trial = Trial(tmp_path_factory.mktemp("undisturbed") / "home", server)
        code, _, err = trial.ended()
        assert code == 0, err
        return published(trial), server.count


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("fault", "moment"),
    [
        ("freeze", "write"),
        pytest.param("freeze", "judge", marks=takes_longest),
        pytest.param("cut", "write", marks=takes_longest),
        pytest.param("cut", "judge", marks=takes_longest),
    ],
)
def test_a_lasting_partition_ends_the_run_and_the_next_one_goes_on(
    fault: str,
    moment: str,
    between: Proxy,
    postgres_database: str,
    tmp_path: Path,
    undisturbed: tuple[dict[str, list[object]], int],
) -> None:
    expected, needed = undisturbed
    with JudgeServer(latency=0.1) as server:
        trial = on_lake(tmp_path / "home", server, postgres_database, between.port)
        with trial.start() as run:
            until(moment, run, postgres_database, server)
            getattr(between, fault)()
            assert between.broken
            out, err = ended_within(run, ENDS_S)
        assert (run.returncode, out) == (2, ""), err
        assert re.search("cannot be (reached|used)", err)
        assert "Traceback" not in err
        assert "should not happen" not in err
        between.heal()
        code, _, err = trial.ended()
        assert code == 0, err
        assert published(trial) == expected
        # Two calls were under way, and the replies to two more could not be stored. No call starts
        # without its claim, so there are no others.
        asked = Counter(digest for _, digest in server.arrivals)
        assert len(asked) == needed
        assert sum(asked.values()) <= needed + 4


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("fault", "moment"),
    [
        ("close", "judge"),
        pytest.param("close", "write", marks=takes_longest),
        pytest.param("cut", "write", marks=takes_longest),
        pytest.param("cut", "judge", marks=takes_longest),
    ],
)
def test_a_run_survives_a_short_partition(
    fault: str,
    moment: str,
    between: Proxy,
    postgres_database: str,
    tmp_path: Path,
    undisturbed: tuple[dict[str, list[object]], int],
) -> None:
    expected, needed = undisturbed
    with JudgeServer(latency=0.1) as server:
        trial = on_lake(tmp_path / "home", server, postgres_database, between.port)
        with trial.start() as run:
            until(moment, run, postgres_database, server)
            getattr(between, fault)()
            assert between.broken
            healing = threading.Timer(SHORT_S, between.heal)
            healing.start()
            _, err = ended_within(run, ENDS_S)
            healing.cancel()
        assert run.returncode == 0, err
        assert published(trial) == expected
        assert server.count == needed


@pytest.mark.timeout(300)
def test_the_lock_of_a_machine_that_vanished_becomes_free(
    between: Proxy, postgres_database: str, tmp_path: Path
) -> None:
    with fresh(postgres_database, tmp_path) as place:
        here = Warehouse(place, patience_s=LOST_S)
        catalog = place.catalog.replace(f"port={POSTGRES['port']}", f"port={between.port}")
        assert catalog != place.catalog
        there = Warehouse(replace(place, catalog=catalog), patience_s=1.0)
        here.append("questions", questions("q1"))

        def vanish() -> None:
            with there.storage.writing() as connection:
                connection.execute("DELETE FROM questions")
                between.cut()
                # Its packets are lost, so the server cannot know that it still lives.
                assert here.append("questions", questions("q2")) == 1

        with pytest.raises(WarehouseUnreachable):
            vanish()
        between.heal()
        # The server would keep what else that machine has open for two hours.
        between.close()
        assert [row[1] for row in ids(here)] == ["q1", "q2"]
