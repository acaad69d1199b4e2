"""Calls are claimed before they are made, and their outcomes stored or their claims released."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from calls.call import Call, CallStatus, Outcome
from calls.claims import ClaimedCalls, EndsBilled
from tests.support.ledgers import FolderLedger
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from calls.call import StoredReply

MOMENT = datetime(2026, 1, 2, tzinfo=UTC).replace(tzinfo=None)
CALL = Call(model="m", parameters={}, messages=[], reply_schema={})


def outcome(reply: str | None, status: CallStatus = CallStatus.SCORED) -> Outcome:
    return Outcome(call=CALL, reply=reply, status=status, attempts=1, judged_at=MOMENT)


def make(
    ledger: FolderLedger, result: Outcome | BaseException, *, again: bool = False
) -> Outcome | StoredReply:
    """Make the call; with `again`, to replace what is stored."""
    known = ledger.find(CALL.digest) if again else None

    async def send() -> Outcome:
        if isinstance(result, BaseException):
            raise result
        return result

    return asyncio.run(ClaimedCalls(ledger, 2, "replies").make(CALL.digest, known, send))


def test_a_stored_reply_is_not_paid_for_again(tmp_path: Path) -> None:
    assert make(FolderLedger(tmp_path), outcome("yes")) == outcome("yes")
    found = make(FolderLedger(tmp_path, "later"), AssertionError("it was sent"))
    assert (found.reply, found.status) == ("yes", CallStatus.SCORED)


def test_a_call_that_raises_leaves_nothing_behind(tmp_path: Path) -> None:
    ledger = FolderLedger(tmp_path)
    with pytest.raises(ConnectionError):
        make(ledger, ConnectionError())
    assert make(FolderLedger(tmp_path, "other"), outcome("yes")) == outcome("yes")
    assert ledger.kept == []


def test_an_outcome_that_ends_the_run_is_stored() -> None:
    failed, ledger = outcome(None, CallStatus.TARGET_ERROR), FolderLedger()
    with pytest.raises(ConnectionError):
        make(ledger, EndsBilled(failed, ConnectionError()))
    assert ledger.kept == [failed]


def test_a_claim_is_released_if_its_outcome_cannot_be_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = FolderLedger(tmp_path)

    async def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(ledger, "store", full)
    with pytest.raises(OSError, match="full"):
        make(ledger, EndsBilled(outcome(None, CallStatus.JUDGE_ERROR), ConnectionError()))
    assert make(FolderLedger(tmp_path, "other"), outcome("yes")) == outcome("yes")


def test_a_usable_reply_stays_where_another_call_ends_the_run() -> None:
    failed, ledger = outcome(None, CallStatus.TARGET_ERROR), FolderLedger()
    make(ledger, outcome("yes"))
    with pytest.raises(ConnectionError):
        make(ledger, EndsBilled(failed, ConnectionError()), again=True)
    found = ledger.find(CALL.digest)
    assert found is not None
    assert (found.reply, found.status) == ("yes", CallStatus.SCORED)


@pytest.mark.parametrize(
    ("status", "left"), [(CallStatus.SCORED, "yes"), (CallStatus.JUDGE_ERROR, None)]
)
def test_a_usable_reply_stays_where_another_call_gets_none(
    status: CallStatus, left: str | None
) -> None:
    ledger = FolderLedger()
    make(ledger, outcome("yes", status))
    make(ledger, outcome(None, CallStatus.JUDGE_ERROR), again=True)
    found = ledger.find(CALL.digest)
    assert found is not None
    assert found.reply == left


@pytest.mark.parametrize(("attempts", "seen"), [(0, (1, 0.5)), (2, (3, 0.75))])
def test_what_a_call_without_a_reply_has_cost_is_added_to_the_reply_that_stays(
    attempts: int, seen: tuple[int, float], tmp_path: Path
) -> None:
    ledger = FolderLedger(tmp_path)
    make(ledger, replace(outcome("yes"), cost_usd=0.5))
    lost = outcome(None, CallStatus.PARSE_FAILURE)
    cost = 0.25 if attempts else None
    make(ledger, replace(lost, attempts=attempts, cost_usd=cost), again=True)
    found = ledger.find(CALL.digest)
    assert found is not None
    assert (found.reply, found.status) == ("yes", CallStatus.SCORED)
    ledger.ledger.flush()
    query = "SELECT attempts::INTEGER, cost_usd FROM judgments"
    assert Warehouse(tmp_path / "warehouse.duckdb").fetch(query).rows() == [seen]
