"""Stored outcomes carry checksums, and no call that was paid for is forgotten."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import text

from calls.ledger import owners
from calls.ledger.database import LedgerDatabase
from calls.ledger.errors import LedgerError, LedgerLocked
from calls.ledger.versions import VERSION
from tests.warehouse.ledger.rows import digest, judgment
from warehouse.ledger.open import ledger_file, ledger_location, open_ledger

if TYPE_CHECKING:
    from calls.ledger.ledger import Ledger
    from warehouse.store import Warehouse

FAILED = {"status": "judge_error", "reply": None, "error": "timeout"}


def change(ledger: Ledger, statement: str, **values: Any) -> None:
    """Change the database behind the ledger's back, as flipped bits do."""
    ledger._database().write(lambda connection, _: connection.execute(text(statement), values))


DAMAGES = [
    "reply = 'reply 9'",
    "reply = NULL",
    "status = 'parse_failure'",
    "error = 'x'",
    "model = 'n'",
    "messages = '[]'",
    "replicate = 1",
    "cost_usd = 0.0010000000000000002",
    "judged_at = '2026-01-02T03:04:05.000007'",
    "checksum = 'no checksum'",
]


def test_a_damaged_outcome_is_named_and_never_used(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = [digest(number) for number in range(len(DAMAGES))]
    intact = digest(len(DAMAGES))
    with open_ledger(warehouse, "run") as ledger:
        for number in range(len(DAMAGES) + 1):
            ledger.record_judgment(judgment(number)).result()
        for each, key in zip(DAMAGES, damaged, strict=True):
            change(ledger, f"UPDATE ledger_judgments SET {each} WHERE digest = :d", d=key)
    with open_ledger(warehouse, "later") as ledger:
        check = ledger.check()
        assert check.rows == len(DAMAGES) + 1
        assert [each[0] for each in check.damaged] == damaged
        assert check.fault is None
        for key in damaged:
            found = ledger.find(key)
            assert found is not None
            assert (found.reply, found.status) == (None, "judge_error")
            assert (found.error or "").startswith("damaged: ")
            assert key[:12] in caplog.text
        # The tables get no damaged row.
        ledger.flush()
        assert warehouse.fetch("SELECT digest FROM judgments").rows() == [(intact,)]
        # The call can be made again, and its outcome replaces the damaged one.
        first = ledger.find(damaged[0])
        assert first is not None
        assert ledger.claim(damaged[0], first.number).result() is None
        ledger.record_judgment(judgment(0, reply="again")).result()
        assert (ledger.find(damaged[0]) or [None])[0] == "again"
        assert [each[0] for each in ledger.check().damaged] == damaged[1:]


@pytest.mark.file_only
def test_every_flipped_bit_of_a_stored_reply_is_noticed(warehouse: Warehouse) -> None:
    """Flipped in the file, where the text may no longer be UTF-8."""
    reply = "a reply of the judge, which was paid for"
    with open_ledger(warehouse, "run") as ledger:
        ledger.record_judgment(judgment(1, reply=reply)).result()
    file = ledger_file(Path(str(warehouse.path)))
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    content = file.read_bytes()
    start = content.index(reply.encode())
    for at in range(start, start + len(reply), 7):
        for bit in (0, 3, 7):
            changed = bytearray(content)
            changed[at] ^= 1 << bit
            file.write_bytes(changed)
            with open_ledger(warehouse, "later") as ledger:
                found = ledger.find(digest(1))
                assert found is not None
                assert found.reply is None


@pytest.mark.file_only
def test_a_damaged_database_says_what_to_do(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        for number in range(200):
            ledger.record_judgment(judgment(number, messages=f'["{"x" * 5_000}"]'))
        ledger.flush()
    file = ledger_file(Path(str(warehouse.path)))
    content = bytearray(file.read_bytes())
    content[4_096 : 40 * 4_096] = b"\xff" * (39 * 4_096)
    file.write_bytes(content)
    with (
        open_ledger(warehouse, "later") as ledger,
        pytest.raises(LedgerError, match=r"is damaged .* move it away.*tables of"),
    ):
        ledger.check()
    # What it says: without the file, the replies come from the tables.
    for each in file.parent.glob(file.name + "*"):
        each.unlink()
    with open_ledger(warehouse, "later") as ledger:
        assert ledger.check() == (200, [], None)
        assert (ledger.find(digest(7)) or [None])[0] == "reply 7"


def test_an_older_ledger_gets_checksums_and_asks_nothing_again(warehouse: Warehouse) -> None:
    with open_ledger(warehouse, "run") as ledger:
        for number in range(3):
            ledger.record_judgment(judgment(number, cost_usd=0)).result()
        ledger._database().write(lambda connection, _: _downgrade(connection))
    with open_ledger(warehouse, "later") as ledger:
        for number in range(3):
            assert (ledger.find(digest(number)) or [None])[0] == f"reply {number}"
        assert ledger.check() == (3, [], None)
        change(ledger, "UPDATE ledger_judgments SET reply = 'x' WHERE digest = :d", d=digest(1))
        assert [each[0] for each in ledger.check().damaged] == [digest(1)]
    database = LedgerDatabase(ledger_location(warehouse.path))
    assert database.version == VERSION
    database.close()


def _downgrade(connection: Any) -> None:
    """Bring the tables to what version 1 of the ledger had."""
    _pack_steps(connection, [])
    for column in ("checksum", "replaced_usd", "replaced_tokens_in", "replaced_tokens_out"):
        connection.execute(text(f"ALTER TABLE ledger_judgments DROP COLUMN {column}"))
    connection.execute(text("UPDATE ledger_store SET version = 1"))


def _pack_steps(connection: Any, asks: list[tuple[int, int]]) -> None:
    """Bring `asks` to what version 2 had: one number for repeat, member and step."""
    connection.execute(text("DROP TABLE ledger_asks"))
    connection.execute(
        text(
            "CREATE TABLE ledger_asks (benchmark TEXT, system TEXT, question_id TEXT, "
            "evaluator TEXT, step INTEGER, digest TEXT NOT NULL, seq BIGINT NOT NULL, "
            "PRIMARY KEY (benchmark, system, question_id, evaluator, step))"
        )
    )
    for step, number in asks:
        connection.execute(
            text("INSERT INTO ledger_asks VALUES ('b', 's', 'q', 'e', :step, :digest, 1000)"),
            {"step": step, "digest": digest(number)},
        )
    connection.execute(text("UPDATE ledger_store SET version = 2"))


def test_packed_numbers_of_calls_become_columns(warehouse: Warehouse) -> None:
    asks = [(0, 0), (1, 1), (100_003, 2), (2_000_001, 3), (4_200_002, 4), (2, 5)]
    with open_ledger(warehouse, "run") as ledger:
        for _, number in asks:
            replicate = 2001 if number == 5 else 0
            ledger.record_judgment(judgment(number, replicate=replicate)).result()
        ledger._database().write(lambda connection, _: _pack_steps(connection, asks))
    with open_ledger(warehouse, "later") as ledger:
        assert ledger.check() == (6, [], None)
        assert all(ledger.find(digest(number)) for _, number in asks)
        ledger.flush()
    found = warehouse.fetch("SELECT repeat, member, replicate, turn, step, digest FROM asks")
    assert sorted(found.rows()) == [
        (0, 0, 0, 0, 0, digest(0)),
        (0, 0, 0, 0, 1, digest(1)),
        (0, 0, 2, 0, 2, digest(5)),
        (0, 1, 0, 0, 3, digest(2)),
        (1, 0, 0, 0, 1, digest(3)),
        (2, 2, 0, 0, 2, digest(4)),
    ]


def test_an_upgrade_waits_for_no_dead_process_and_refuses_a_living_one(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "BEAT_S", 0.3)
    with open_ledger(warehouse, "run") as ledger:
        ledger.record_judgment(judgment(1)).result()
        ledger._database().write(lambda connection, _: _pack_steps(connection, []))
    database = LedgerDatabase(ledger_location(warehouse.path))
    database.write(lambda connection, _: _add_owner(connection, pid=2**22 + 1))
    database.upgrade(lambda _: None)
    assert database.version == VERSION
    database.write(lambda connection, _: _pack_steps(connection, []))
    database.write(lambda connection, _: _add_owner(connection, pid=os.getpid()))
    beating = Event()

    def beat() -> None:
        while not beating.wait(0.1):
            database.write(lambda connection, _: connection.execute(text(_BEAT)))

    thread = Thread(target=beat)
    thread.start()
    old = LedgerDatabase(ledger_location(warehouse.path))
    try:
        with pytest.raises(LedgerLocked, match=f"is used by process {os.getpid()} on here with"):
            old.upgrade(lambda _: None)
    finally:
        beating.set()
        thread.join()
        old.close()
        database.close()


_BEAT = "UPDATE ledger_owners SET beats = beats + 1"


def _add_owner(connection: Any, pid: int) -> None:
    connection.execute(text("DELETE FROM ledger_owners"))
    values = {"owner": "x", "pid": pid, "machine": owners.machine()}
    insert = "INSERT INTO ledger_owners VALUES (:owner, 0, :pid, :machine, 'here')"
    connection.execute(text(insert), values)


def test_the_cost_of_a_replaced_outcome_stays(warehouse: Warehouse) -> None:
    paid = "attempts, tokens_in, tokens_out, cost_usd, replaced_tokens_in, replaced_usd, run_id"
    with open_ledger(warehouse, "one") as ledger:
        ledger.record_judgment(judgment(1, status="parse_failure", error="no JSON")).result()
        ledger.record_judgment(judgment(2, **FAILED, cost_usd=None)).result()
        ledger.record_judgment(judgment(3)).result()
    with open_ledger(warehouse, "two") as ledger:
        first = ledger.find(digest(1))
        assert first is not None
        ledger.record_judgment(judgment(1, cost_usd=0.002), first.number).result()
        ledger.record_judgment(judgment(2)).result()
        # A failure replaces no reply, but it may have been paid for.
        ledger.record_judgment(judgment(3, **FAILED, cost_usd=0.004)).result()
        ledger.flush()
    found = warehouse.fetch(f"SELECT {paid} FROM judgments ORDER BY digest").rows()
    assert found == [
        (2, 20, 10, pytest.approx(0.003), 10, pytest.approx(0.001), "two"),
        (2, 20, 10, pytest.approx(0.001), 10, None, "two"),
        (2, 20, 10, pytest.approx(0.005), 10, pytest.approx(0.004), "one"),
    ]
