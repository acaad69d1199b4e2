"""What was answered is billed: it is stored, however the call ends."""

from __future__ import annotations

import time

import pytest

from calls.call import CallStatus
from evaluators.engines.judge.errors import JudgeRefused
from evaluators.engines.judge.ledger_judge import LedgerJudge
from tests.evaluators.engines.judge.questions import YES, about, origin, put, settings
from tests.support.judge_server import JudgeServer, Reply
from tests.support.ledgers import FolderLedger

NO_JSON = Reply(content="I would say that it is so.")
CUT = Reply(content='{"reasoning": "It', finish="length")
WAIT_S = 30.0


@pytest.mark.parametrize("first", [NO_JSON, CUT])
@pytest.mark.parametrize("status", [401, 402])
def test_a_reply_before_a_refusal_is_stored_with_its_tokens(first: Reply, status: int) -> None:
    ledger = FolderLedger()
    with (
        JudgeServer([first, Reply(status=status, content="no credit")]) as server,
        pytest.raises(JudgeRefused),
    ):
        put(server, ledger=ledger)
    [kept] = ledger.kept
    assert (kept.status, kept.reply, kept.attempts) == (CallStatus.JUDGE_ERROR, None, 2)
    assert (kept.tokens_in, kept.tokens_out) == (100, 20)


def test_a_reply_of_a_call_that_is_broken_off_is_stored_with_its_tokens() -> None:
    ledger = FolderLedger()
    with (
        JudgeServer([NO_JSON, Reply(content=YES, delay=WAIT_S)]) as server,
        LedgerJudge(settings(server), ledger) as judge,
    ):
        judge.ask(about("a"), origin())
        until = time.monotonic() + WAIT_S
        while server.count < 2 and time.monotonic() < until:
            time.sleep(0.01)
    [kept] = ledger.kept
    assert (kept.status, kept.error) == (
        CallStatus.JUDGE_ERROR,
        "broken off: the run has ended",
    )
    assert (kept.tokens_in, kept.tokens_out) == (100, 20)
