"""The ledger: what was stored is there at once for all processes, and is never made worse."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import psutil
import pytest

from calls.ledger.database import LedgerDatabase
from calls.ledger.errors import LedgerError, LedgerTooNew
from calls.ledger.ledger import Holder, Ledger, Reply
from tests.support.lakes import told
from tests.support.services import takes_minutes
from tests.warehouse.ledger.rows import ask, digest, judgment
from warehouse.ledger.open import WarehouseTables, ledger_file, ledger_location, open_ledger
from warehouse.ledger.tables import _rows_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from warehouse.store import Warehouse

ROOT = Path(__file__).parents[3]


def rows(warehouse: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    return warehouse.fetch(sql).rows()


def test_finds_judgments_before_and_after_a_flush(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        assert ledger.find(digest(1)) is None
        ledger.record_judgment(judgment(1)).result()
        assert ledger.find(digest(1)) == Reply("reply 1", "scored", None, 1 + 1)
        ledger.flush()
    with open_ledger(warehouse, "later") as ledger:
        assert (ledger.find(digest(1)) or [None])[0] == "reply 1"
        assert ledger.find(digest(2)) is None
    stored = rows(warehouse, "SELECT digest, reply, run_id, judged_at::VARCHAR FROM judgments")
    assert stored == [(digest(1), "reply 1", "run", "2026-01-02 03:04:05.000006")]


def test_the_tables_are_filled_in_large_batches(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        for number in range(40):
            ledger.record_judgment(judgment(number))
        ledger.flush()
    database = LedgerDatabase(ledger_location(warehouse.path))
    frames = list(_rows_after(database, "judgments", -1))
    database.close()
    # One for each row would take a hundred times as long to import.
    assert [frame.height for frame in frames] == [40]


def test_another_process_sees_a_reply_at_once_and_fills_the_tables(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "one") as one, open_ledger(warehouse, "two") as two:
        assert two.find(digest(1)) is None
        one.record_judgment(judgment(1)).result()
        assert (two.find(digest(1)) or [None])[0] == "reply 1"
        one.record_ask(ask("q1", 0, 1))
        one.record_ask(ask("q1", 1, 1))
        assert one.claim(digest(2), -1).result() is None  # after which the asks are stored
        one._write_asks()
        one._drain()
        two.flush()
        assert rows(warehouse, "SELECT run_id FROM judgments") == [("one",)]
        assert rows(warehouse, "SELECT question_id, step FROM asks ORDER BY ALL") == [
            ("q1", 0),
            ("q1", 1),
        ]


def test_a_reply_replaces_a_failure_but_not_vice_versa(warehouse: Warehouse) -> None:
    failed = {"status": "judge_error", "reply": None, "error": "timeout"}
    with open_ledger(warehouse, "one") as ledger:
        ledger.record_judgment(judgment(1, **failed))
        ledger.record_judgment(judgment(2))
        ledger.flush()
        found = ledger.find(digest(1))
        assert found is not None
        assert found[:3] == (None, "judge_error", "timeout")
    with open_ledger(warehouse, "two") as ledger:
        ledger.record_judgment(judgment(1))
        ledger.record_judgment(judgment(2, **failed))
        ledger.flush()
    stored = rows(warehouse, "SELECT status, run_id FROM judgments ORDER BY digest")
    assert stored == [("scored", "two"), ("scored", "one")]


def test_a_sample_that_asks_less_than_before_leaves_nothing_behind(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "one") as ledger:
        for step in range(3):
            ledger.record_ask(ask("q1", step, step))
            ledger.record_ask(ask("q2", step, step))
        ledger.flush()
    with open_ledger(warehouse, "two") as ledger:
        ledger.record_ask(ask("q1", 0, 7))
        ledger.flush()
    stored = rows(warehouse, "SELECT question_id, step FROM asks ORDER BY ALL")
    assert stored == [("q1", 0), ("q2", 0), ("q2", 1), ("q2", 2)]
    assert rows(warehouse, "SELECT digest FROM asks WHERE question_id = 'q1'") == [(digest(7),)]


def test_only_one_process_makes_a_call_and_the_other_gets_its_reply(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "one") as one, open_ledger(warehouse, "two") as two:
        assert one.claim(digest(1), -1).result() is None
        assert one.claim(digest(1), -1).result() is None  # its own claim
        assert isinstance(two.claim(digest(1), -1).result(), Holder)
        one.record_judgment(judgment(1)).result()
        found = two.claim(digest(1), -1).result()
        assert isinstance(found, Reply)
        assert found.reply == "reply 1"
        assert one.claim(digest(2), -1).result() is None
        one.release(digest(2))
        one._drain()
        assert two.claim(digest(2), -1).result() is None


def test_a_failure_is_tried_again_once_not_by_everybody(warehouse: Warehouse) -> None:
    failed = {"status": "judge_error", "reply": None, "error": "timeout"}
    with open_ledger(warehouse, "one") as one, open_ledger(warehouse, "two") as two:
        one.record_judgment(judgment(1, **failed)).result()
        known = one.find(digest(1))
        assert known is not None
        assert one.claim(digest(1), known.number).result() is None
        assert isinstance(two.claim(digest(1), known.number).result(), Holder)
        one.record_judgment(judgment(1, **failed, attempts=7)).result()
        later = two.claim(digest(1), known.number).result()
        assert isinstance(later, Reply)
        assert later.number > known.number


def test_a_process_that_ends_leaves_no_claims(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "one") as one:
        assert one.claim(digest(1), -1).result() is None
    with open_ledger(warehouse, "two") as two:
        assert two.claim(digest(1), -1).result() is None


WRITER = """
import json, sys
from warehouse.ledger.open import open_ledger
from warehouse.storage.location import location_from_json
from warehouse.store import Warehouse
row = json.loads(sys.argv[2])
with open_ledger(Warehouse(location_from_json(json.loads(sys.argv[1]))), "killed") as ledger:
    for number in range(1_000_000):
        digest = f"{number:064x}"
        assert ledger.claim(digest, -1).result() is None
        ledger.reserve(run_usd=1e9, day_usd=None, least=1.0, enough=1.0, most=1.0).result()
        print(number, flush=True)
        ledger.record_judgment({**row, "digest": digest}).result()
"""


def writer(warehouse: Warehouse) -> subprocess.Popen[str]:
    """A process that claims, reserves and stores one call after another."""
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, told(warehouse.path), json.dumps(judgment(0))],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def test_a_killed_process_loses_no_stored_reply_and_no_claim_lasts(warehouse: Warehouse) -> None:
    with writer(warehouse) as process:
        assert process.stdout is not None
        claimed = [process.stdout.readline() for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        claimed += process.stdout
    with open_ledger(warehouse, "next") as ledger:
        found = [ledger.find(digest(number)) is not None for number in range(len(claimed))]
        # All but the call in flight.
        assert all(found[:-1])
        # The killed process is seen to be dead without waiting for its lease.
        assert found[-1] or ledger.claim(digest(len(claimed) - 1), -1).result() is None
        # What it had set aside for its calls may be billed. It settled none.
        dead = ledger.reserve(run_usd=None, day_usd=2.0, least=1.5, enough=1.5, most=1.5)
        assert dead.result() is False
        assert ledger.spent_last_day_usd() == len(claimed)


HOLDER = """
import json, sys
from warehouse.ledger.open import open_ledger
from warehouse.storage.location import location_from_json
from warehouse.store import Warehouse
with open_ledger(Warehouse(location_from_json(json.loads(sys.argv[1]))), "stopped") as ledger:
    print(ledger.claim(sys.argv[2], -1).result(), flush=True)
    sys.stdin.readline()
    ledger.record_judgment({**json.loads(sys.argv[3]), "reply": "late"}).result()
"""


@takes_minutes
def test_a_process_that_is_stopped_is_waited_for_as_long_as_its_lease(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop that sleeps: its late reply neither replaces the other one nor is it an error."""
    command = [sys.executable, "-c", HOLDER, told(warehouse.path), digest(1)]
    with (
        subprocess.Popen(
            [*command, json.dumps(judgment(1))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as process,
        open_ledger(warehouse, "next") as ledger,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "None\n"
            process.send_signal(signal.SIGSTOP)
            while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
                time.sleep(0.01)
            assert ledger.claim(digest(1), -1).result() == Holder(process.pid, socket.gethostname())
            monkeypatch.setattr("calls.ledger.owners.LEASE_S", 0.2)
            time.sleep(0.3)
            assert ledger.claim(digest(1), -1).result() is None
            ledger.record_judgment(judgment(1)).result()
            process.send_signal(signal.SIGCONT)
            process.communicate("\n", timeout=30)
            assert process.returncode == 0
        finally:
            process.kill()
        assert (ledger.find(digest(1)) or [None])[0] == "reply 1"


def test_processes_of_other_machines_are_known_by_their_heartbeat_alone(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process number of another container may exist here, or not: it says nothing."""
    with open_ledger(warehouse, "elsewhere") as one, open_ledger(warehouse, "here") as two:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr("calls.ledger.owners.machine", lambda: "another")
            elsewhere.setattr("os.getpid", lambda: 2**22 + 1)  # no such process
            assert one.claim(digest(1), -1).result() is None
        assert isinstance(two.claim(digest(1), -1).result(), Holder)
        monkeypatch.setattr("calls.ledger.owners.LEASE_S", 0.2)
        time.sleep(0.3)
        assert two.claim(digest(1), -1).result() is None


@takes_minutes
def test_eight_processes_at_once_make_every_call_once(warehouse: Warehouse) -> None:
    script = """
import json, sys, time
from calls.ledger.ledger import Holder
from warehouse.ledger.open import open_ledger
from warehouse.storage.location import location_from_json
from warehouse.store import Warehouse
row = json.loads(sys.argv[2])
with open_ledger(Warehouse(location_from_json(json.loads(sys.argv[1]))), sys.argv[3]) as ledger:
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(200):
        digest = f"{number:064x}"
        while isinstance(found := ledger.claim(digest, -1).result(), Holder):
            time.sleep(0.001)
        if found is None:
            print(number, flush=True)
            ledger.settle(None, 0.25)
            ledger.record_judgment({**row, "digest": digest}).result()
"""
    with open_ledger(warehouse, "creates") as ledger:
        ledger.find(digest(1))
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, told(warehouse.path), json.dumps(judgment(0)), str(run)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for run in range(8)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    made = Counter(
        line for process in processes for line in process.communicate(timeout=100)[0].split()
    )
    assert [process.returncode for process in processes] == [0] * 8
    assert made == Counter(map(str, range(200)))
    with open_ledger(warehouse, "last") as ledger:
        ledger.flush()
        assert ledger.spent_last_day_usd() == 50.0
    assert rows(warehouse, "SELECT count(*), sum(cost_usd) FROM judgments") == [
        (200, pytest.approx(0.2))
    ]


@pytest.mark.parametrize("back_s", [3600.0, -3600.0])
def test_a_clock_that_is_set_changes_no_rate_for_long(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, back_s: float
) -> None:
    with open_ledger(warehouse, "run") as ledger:
        waits = [ledger.start("calls", 60.0, 1).result() for _ in range(2)]
        assert waits[0] == 0.0  # a second's worth
        assert 0 < waits[1] <= 1.0
        clock = ledger._database()
        real = clock.now
        monkeypatch.setattr(clock, "now", lambda connection: real(connection) - back_s)
        assert 0 <= ledger.start("calls", 60.0, 1).result() <= 1.0


def test_a_new_ledger_takes_over_what_the_warehouse_and_old_journals_hold(
    warehouse: Warehouse,
) -> None:
    """A warehouse of version 0.1, copied or restored without its ledger, pays for nothing twice."""
    old = {**judgment(1), "run_id": "old"}
    moment = pl.col("judged_at").str.to_datetime(time_unit="us")
    warehouse.append("judgments", pl.DataFrame([old]).with_columns(moment))
    journals = warehouse.path.with_name(warehouse.path.name + ".journal")
    journals.mkdir(parents=True)
    line = json.dumps({"judgment": {**judgment(2), "run_id": "killed"}})
    (journals / "1@host.jsonl").write_text(f'{json.dumps({"ask": ask("q", 0, 2)})}\n{line}\n{{"ju')
    with open_ledger(warehouse, "run") as ledger:
        for number in (1, 2):
            assert (ledger.find(digest(number)) or [None])[0] == f"reply {number}"
        ledger.flush()
    assert not journals.exists()
    assert rows(warehouse, "SELECT digest, run_id FROM judgments ORDER BY ALL") == [
        (digest(1), "old"),
        (digest(2), "killed"),
    ]


@pytest.mark.file_only
def test_a_warehouse_that_is_lost_gets_its_judgments_back(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        ledger.record_judgment(judgment(1))
        ledger.flush()
    Path(str(warehouse.path)).unlink()
    with open_ledger(warehouse, "run") as ledger:
        ledger.flush()
    assert rows(warehouse, "SELECT digest FROM judgments") == [(digest(1),)]


@pytest.mark.file_only
def test_a_commit_is_on_disk_when_it_returns(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        ledger.find(digest(1))
        with ledger._database().reading() as connection:
            for pragma, value in (("synchronous", 2), ("journal_mode", "wal")):
                assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == value
    # The statement above is SQLite's own promise; the file is whole after any number of kills.
    file = ledger_file(Path(str(warehouse.path)))
    assert sqlite3.connect(file).execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.file_only
def test_a_network_file_system_is_refused_with_the_way_out(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(str(warehouse.path)).parent
    real = psutil.disk_partitions
    mount = psutil._ntuples.sdiskpart("server:/x", str(folder.parent), "nfs4", "rw")
    monkeypatch.setattr(psutil, "disk_partitions", lambda **all_: [*real(**all_), mount])
    with (
        open_ledger(warehouse, "run") as ledger,
        pytest.raises(LedgerError, match=r"network file system \(nfs4\).*ducklake:postgres"),
    ):
        ledger.record_judgment(judgment(1))
    assert not folder.exists()


@pytest.mark.file_only
@pytest.mark.parametrize(
    ("damage", "error", "message"),
    [
        (lambda file: file.write_bytes(b"nonsense" * 1000), LedgerError, "not a database"),
        (lambda file: file.unlink() or file.mkdir(), LedgerError, "is a folder"),
        (
            lambda file: sqlite3.connect(file, isolation_level=None).execute(
                "UPDATE ledger_store SET version = 99"
            ),
            LedgerTooNew,
            "update Scoreline",
        ),
    ],
)
def test_a_ledger_that_cannot_be_read_is_named(
    warehouse: Warehouse, damage: Callable[[Path], object], error: type[Exception], message: str
) -> None:
    with open_ledger(warehouse, "run") as ledger:
        ledger.record_judgment(judgment(1))
    damage(ledger_file(Path(str(warehouse.path))))
    with open_ledger(warehouse, "run") as ledger, pytest.raises(error, match=message) as raised:
        ledger.find(digest(1))
    assert "warehouse.duckdb" in str(raised.value)


def test_nothing_is_written_by_whom_only_closes(warehouse: Warehouse) -> None:
    Ledger(WarehouseTables(warehouse), "run").close()
    assert not ledger_file(Path("x")).exists()
    assert not warehouse.exists()
