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
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from calls.ledger.budget import settle, spent_by_run
from calls.ledger.database import LedgerDatabase
from tests.faults.proxy import Proxy, proxy
from tests.faults.test_lake import writing
from tests.faults.trial import Trial
from tests.support.judge_server import JudgeServer
from tests.support.lakes import fresh
from tests.support.services import POSTGRES, takes_longest
from tests.warehouse.conftest import ids, questions
from warehouse.errors import WarehouseUnreachable
from warehouse.ledger.open import ledger_location
from warehouse.schema.tables.history import HISTORY
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from warehouse.storage.location import Lake

LOST_S = 40.0
"""After this long, a lost connection has been noticed: by TCP in 10 s, by the watchdog in 30 s."""
ENDS_S = 420.0
"""A run has ended after this long: it notices, tries again for a while, and stops."""
SHORT_S = 12.0
"""Long enough for TCP to give up, and shorter than the half minute for which a run waits."""
KEPT = (
    *("judgments", "asks", "signatures", "leaderboard_history", "validations"),
    *(table.name for table in HISTORY.tables),
)
"""Tables that keep what earlier runs did."""
SLOW_COMMIT = """
CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(3); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ledger_spending
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()
"""


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


@contextmanager
def run_until(
    moment: str, home: Path, server: JudgeServer, database: str, between: Proxy
) -> Iterator[tuple[Trial, subprocess.Popen[str]]]:
    """A run on a lake behind the proxy, at the moment at which a fault shall strike."""
    trial = on_lake(home, server, database, between.port)
    with trial.start() as run:
        until(moment, run, database, server)
        yield trial, run


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
        pytest.param("freeze", "write", marks=takes_longest),
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
        home = tmp_path / "home"
        with run_until(moment, home, server, postgres_database, between) as (trial, run):
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
        home = tmp_path / "home"
        with run_until(moment, home, server, postgres_database, between) as (trial, run):
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
@pytest.mark.parametrize(
    "query",
    [
        "ducklake_file_column_stats",
        *(
            pytest.param(query, marks=takes_longest)
            for query in ("ducklake_data_file", "ducklake_snapshot", "BEGIN", "COMMIT")
        ),
    ],
)
def test_work_is_repeated_whose_connection_is_lost_in_a_query(
    query: str, between: Proxy, postgres_database: str, tmp_path: Path
) -> None:
    with fresh(postgres_database, tmp_path) as place:
        warehouse = Warehouse(behind(between, place), patience_s=LOST_S)
        warehouse.append("questions", questions("q1"))
        between.close_at(query)
        assert warehouse.append("questions", questions("q2")) == 1
        assert between.broken
        between.close_at(query)
        assert [row[1] for row in ids(warehouse)] == ["q1", "q2"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("moment", ["before the commit", "during the commit"])
def test_a_cost_counts_once_where_the_connection_is_lost(
    moment: str, between: Proxy, postgres_database: str, tmp_path: Path
) -> None:
    attempts = []
    with fresh(postgres_database, tmp_path) as place:
        ledger = LedgerDatabase(ledger_location(behind(between, place)))
        ledger.create(lambda _: None)
        if moment == "during the commit":
            # The server goes on with it, and cannot say so.
            with ledger.transaction() as (connection, _):
                connection.exec_driver_sql(SLOW_COMMIT)

        def spend(connection: Connection, number: int) -> str:
            settle(connection, "run", None, 1.0)
            attempts.append(number)
            if len(attempts) == 1 and moment == "before the commit":
                between.close()
            elif len(attempts) == 1:
                threading.Thread(target=close_during_commit, args=(between, place)).start()
            return f"attempt {len(attempts)}"

        result = ledger.write(spend)
        assert between.broken
        with ledger.reading() as connection:
            assert spent_by_run(connection, "run") == 1.0
        ledger.close()
    assert (result, len(attempts)) == {
        "before the commit": ("attempt 2", 2),
        "during the commit": ("attempt 1", 1),
    }[moment]


def behind(between: Proxy, place: Lake) -> Lake:
    """A lake as a machine sees it whose connections go through the proxy."""
    catalog = place.catalog.replace(f"port={POSTGRES['port']}", f"port={between.port}")
    assert catalog != place.catalog
    return replace(place, catalog=catalog)


def close_during_commit(between: Proxy, place: Lake) -> None:
    database = LedgerDatabase(ledger_location(place))
    query = "SELECT count(*) FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'"
    with database.reading() as connection:
        while connection.exec_driver_sql(query).scalar_one() == 0:
            time.sleep(0.01)
    between.close()
    database.close()


@takes_longest
@pytest.mark.timeout(300)
def test_the_lock_of_a_machine_that_vanished_becomes_free(
    between: Proxy, postgres_database: str, tmp_path: Path
) -> None:
    with fresh(postgres_database, tmp_path) as place:
        here = Warehouse(place, patience_s=LOST_S)
        there = Warehouse(behind(between, place), patience_s=1.0)
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
