"""Stored replies: their checksums, what `doctor` says of them, and that each paid call is one."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.judge_server import JudgeServer, faithful
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from tests.orchestration.judged_project import JudgedProject
    from tests.support.scripted_reply import Reply

CALLS = 4
"""Both systems retrieve the same passages."""


def diagnosis(priced: JudgedProject) -> tuple[str, str]:
    found = json.loads(priced.scoreline("doctor", "--format", "json").stdout)
    ((state, message),) = [
        (each["state"], each["message"]) for each in found if each["subject"] == "ledger"
    ]
    return state, message


@takes_minutes
def test_all_that_is_billed_is_recorded(priced: JudgedProject, server: JudgeServer) -> None:
    billed = 0.0

    def counting(request: dict[str, Any]) -> Reply:
        nonlocal billed
        said = faithful(request)
        tokens_in, tokens_out = said.usage
        billed += (tokens_in * 1.0 + tokens_out * 2.0) / 1e6
        return said

    server.script = counting
    assert priced.scoreline("doctor").exit_code == 0
    assert server.count == 1
    assert priced.scoreline("run").exit_code == 0
    assert server.count == 1 + CALLS
    assert priced.scoreline("doctor").exit_code == 0
    assert server.count == 2 + CALLS
    priced.write()
    priced.scoreline("run", "--force")
    assert server.count == 2 + CALLS
    rows = priced.rows("SELECT sum(cost_usd), sum(attempts)::INT FROM judgments")
    assert rows == [(pytest.approx(billed), 2 + CALLS)]


def test_a_damaged_reply_is_named_and_made_again(
    priced: JudgedProject, server: JudgeServer
) -> None:
    priced.scoreline("run")
    assert diagnosis(priced)[0] == "ok"
    file = next(priced.home.rglob("*.ledger"))
    connection = sqlite3.connect(file)
    ((digest, reply),) = connection.execute(
        "SELECT digest, reply FROM ledger_judgments ORDER BY digest LIMIT 1"
    ).fetchall()
    # Another key in the reply: it could be parsed, and would give another score.
    connection.execute(
        "UPDATE ledger_judgments SET reply = ? WHERE digest = ?", (reply.replace("a", "b"), digest)
    )
    connection.commit()
    connection.close()
    state, message = diagnosis(priced)
    assert state == "fail"
    assert f"1 of {CALLS + 1} stored replies are damaged: {digest[:12]} of openai/judge" in message
    before = server.count
    before_scores = priced.everything()
    again = priced.scoreline("run", "--retry")
    assert again.exit_code == 0
    assert server.count == before + 1
    assert priced.everything() == before_scores
    assert diagnosis(priced)[0] == "ok"
