"""The ledger: what was kept is there at once, survives a kill, and is never made worse."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.lakes import told
from warehouse.errors import WarehouseError
from warehouse.ledger.journal import Journal, journal_folder, orphaned_journals
from warehouse.ledger.ledger import open_ledger, recover_journals

if TYPE_CHECKING:
    from warehouse.store import Warehouse


def digest(number: int) -> str:
    return f"{number:064x}"


def judgment(number: int, **columns: Any) -> dict[str, Any]:
    return {
        "digest": digest(number),
        "model": "m",
        "parameters": '{"temperature":0}',
        "messages": '[{"role":"user","content":"?"}]',
        "reply_schema": "{}",
        "replicate": 0,
        "reply": f"reply {number}",
        "status": "scored",
        "error": None,
        "attempts": 1,
        "tokens_in": 10,
        "tokens_out": 5,
        "cost_usd": 0.001,
        "latency_s": 0.5,
        "judged_at": "2026-01-02T03:04:05.000006",
    } | columns


def ask(question: str, step: int, number: int) -> dict[str, Any]:
    return {
        "benchmark": "b",
        "system": "s",
        "question_id": question,
        "evaluator": "e",
        "step": step,
        "digest": digest(number),
    }


def rows(warehouse: Warehouse, sql: str) -> list[tuple[Any, ...]]:
    return warehouse.fetch(sql).rows()


def journals(warehouse: Warehouse) -> list[Path]:
    folder = journal_folder(warehouse.path)
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_finds_judgments_before_and_after_a_flush(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        assert ledger.find(digest(1)) is None
        ledger.record_judgment(judgment(1))
        assert ledger.find(digest(1)) == ("reply 1", "scored", None)
        ledger.flush()
        assert ledger.find(digest(1)) == ("reply 1", "scored", None)
    with open_ledger(warehouse, "later") as ledger:
        assert ledger.find(digest(1)) == ("reply 1", "scored", None)
        assert ledger.find(digest(2)) is None
    stored = rows(warehouse, "SELECT digest, reply, run_id, judged_at::VARCHAR FROM judgments")
    assert stored == [(digest(1), "reply 1", "run", "2026-01-02 03:04:05.000006")]
    assert journals(warehouse) == []


def test_what_was_not_settled_is_recovered_by_the_next_start(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        ledger.record_judgment(judgment(1))
        ledger.record_ask(ask("q1", 0, 1))
    assert len(journals(warehouse)) == 1
    assert recover_journals(warehouse) == 1
    assert rows(warehouse, "SELECT digest FROM judgments") == [(digest(1),)]
    assert rows(warehouse, "SELECT question_id, step FROM asks") == [("q1", 0)]
    assert journals(warehouse) == []
    assert recover_journals(warehouse) == 0


def test_a_line_that_was_cut_off_is_left_out(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        for number in range(3):
            ledger.record_judgment(judgment(number))
    (path,) = journals(warehouse)
    path.write_bytes(path.read_bytes()[:-20])
    recover_journals(warehouse)
    assert rows(warehouse, "SELECT count(*) FROM judgments") == [(2,)]


def test_a_broken_line_is_named_and_nothing_is_lost(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        ledger.record_judgment(judgment(1))
        ledger.record_judgment(judgment(2))
    (path,) = journals(warehouse)
    path.write_bytes(b"nonsense\n" + path.read_bytes())
    with pytest.raises(WarehouseError, match="line 1"):
        recover_journals(warehouse)
    assert journals(warehouse) == [path]
    assert rows(warehouse, "SELECT count(*) FROM judgments") == [(0,)]


def test_a_reply_replaces_a_failure_but_not_vice_versa(warehouse: Warehouse) -> None:
    failed = {"status": "judge_error", "reply": None, "error": "timeout"}
    with open_ledger(warehouse, "one") as ledger:
        ledger.record_judgment(judgment(1, **failed))
        ledger.record_judgment(judgment(2))
        ledger.flush()
        assert ledger.find(digest(1)) == (None, "judge_error", "timeout")
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


def test_the_journal_of_a_living_process_is_left_alone(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "one") as ledger:
        ledger.record_judgment(judgment(1))
        assert recover_journals(warehouse) == 0
        ledger.flush()
    assert rows(warehouse, "SELECT count(*) FROM judgments") == [(1,)]


WRITER = """
import json, sys
from warehouse.ledger.ledger import open_ledger
from warehouse.storage.location import location_from_json
from warehouse.store import Warehouse
row = json.loads(sys.argv[2])
with open_ledger(Warehouse(location_from_json(json.loads(sys.argv[1]))), "killed") as ledger:
    for number in range(1_000_000):
        ledger.record_judgment({**row, "digest": f"{number:064x}"})
        print(number, flush=True)
"""


def test_a_killed_process_loses_no_recorded_reply(warehouse: Warehouse) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, told(warehouse.path), json.dumps(judgment(0))],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        kept = [first, *process.stdout]
    recover_journals(warehouse)
    ((stored,),) = rows(warehouse, "SELECT count(*) FROM judgments")
    # A reply may have been kept whose number was not printed any more.
    assert stored in (len(kept), len(kept) + 1)


@pytest.mark.file_only
def test_ignores_journals_that_appear_and_disappear(warehouse: Warehouse) -> None:
    """A process that starts or ends while others look for what was left behind is not disturbed."""

    def come_and_go(_: int) -> None:
        with Journal(warehouse.path) as journal:
            journal.write("ask", {})
            journal.clear()

    def look(_: int) -> int:
        with orphaned_journals(warehouse.path) as found:
            return len(found)

    with ThreadPoolExecutor(6) as threads:
        coming = [threads.submit(come_and_go, number) for number in range(500)]
        looking = [threads.submit(look, number) for number in range(500)]
        assert [future.result() for future in looking] == [0] * 500
        for future in coming:
            future.result()
    assert journals(warehouse) == []


def test_a_journal_of_another_machine_is_taken_when_it_has_long_been_still(
    warehouse: Warehouse,
) -> None:
    with open_ledger(warehouse, "elsewhere") as ledger:
        ledger.record_judgment(judgment(1))
    (own,) = journals(warehouse)
    theirs = own.rename(own.with_name("0123@another-machine.jsonl"))
    assert recover_journals(warehouse) == 0
    assert theirs.exists()
    a_day_ago = time.time() - 86_400
    os.utime(theirs, (a_day_ago, a_day_ago))
    assert recover_journals(warehouse) == 1
    assert rows(warehouse, "SELECT count(*) FROM judgments") == [(1,)]
