"""Prompts that say by themselves how to reply: no schema is sent, no JSON is looked for."""

from __future__ import annotations

import json

import pytest

from evaluators.catalog import build
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.flows.protocols import Engines
from evaluators.scoring import score
from tests.evaluators.engines.judge.questions import settings
from tests.support.judge_server import JudgeServer, Reply
from tests.support.ledgers import FolderLedger
from tests.support.samples import samples
from tests.support.scripted_judge import values

RAW = build("byop", {"mode": "raw", "prompt_template": "Say true or false: {ACTUAL_OUTPUT}"})


def passes(server: JudgeServer) -> tuple[float | None, float | None]:
    with LedgerJudge(settings(server), FolderLedger()) as judge:
        grades = score(RAW, samples([{"answer": "Good day."}]), Engines(judge=judge))
    found = values(grades.long().rows(named=True))
    return found["passes"], found["parse_failures"]


@pytest.mark.parametrize(
    ("said", "expected", "calls"),
    [
        (["True."], (1, 0), 1),
        (["<think>Is it {true}?</think>\nfalse"], (0, 0), 1),
        (["true, because it is", "true"], (1, 0), 2),
        (["true, because it is", "I said true"], (None, 1), 2),
        (["true ... no, false", "false"], (0, 0), 2),
        (["True.\nFalse.", "true false"], (None, 1), 2),
        (['{"verdict": true}', "FALSE"], (0, 0), 2),
    ],
)
def test_a_plain_reply_is_read_or_put_right_once(
    said: list[str], expected: tuple[float | None, float], calls: int
) -> None:
    with JudgeServer([Reply(content=text) for text in said]) as server:
        assert passes(server) == expected
        assert server.count == calls
        sent = server.requests
    assert not any("response_format" in request for request in sent)
    assert "JSON" not in json.dumps([request["messages"] for request in sent])
    if calls > 1:
        assert "in the words that you were asked for" in sent[1]["messages"][-1]["content"]
