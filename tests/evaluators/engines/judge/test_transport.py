"""What goes wrong on the way to a judge, over a real server: what is tried again, and how often."""

from __future__ import annotations

import time
from typing import Any

import pytest

from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.outcome import Status, Unscored
from tests.evaluators.engines.judge.questions import (
    PAGE,
    PATIENCE_S,
    YES,
    Verdict,
    about,
    origin,
    put,
    settings,
)
from tests.support.judge_server import JudgeServer, Reply
from tests.support.ledgers import FolderLedger
from tests.support.services import takes_minutes

GOOD = Reply(content=YES)
HTML = b"<html><body>Bad gateway, please come back</body></html>"

PASSING = {
    "busy": Reply(status=429, content="too many requests"),
    "500": Reply(status=500, content="oops"),
    "502 page": Reply(status=502, body=HTML, headers=PAGE),
    "503": Reply(status=503, content="overloaded"),
    "529": Reply(status=529, content="overloaded"),
    "closed in mid-reply": Reply(content=YES * 50, cut=True),
    "200 with a page": Reply(body=HTML, headers=PAGE),
    "200 with a page that says it is JSON": Reply(body=HTML),
    "200 with other JSON": Reply(body=b'{"message": "hello"}'),
    "200 without choices": Reply(body=b'{"id": "x", "choices": []}'),
    "too slow": Reply(content=YES, delay=30),
}
REASONS = {
    "busy": "rate_limit",
    "500": "transport: oops",
    "closed in mid-reply": "transport: ",
    "200 with a page": "transport: ",
    "too slow": "timeout",
}


def limit_of(fault: str) -> float:
    """Seconds for one attempt: few only where that is the point, as machines may be busy."""
    return 1.5 if fault == "too slow" else 20


@takes_minutes
@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
@pytest.mark.parametrize("fault", PASSING)
def test_what_passes_is_tried_again(fault: str, provider: str) -> None:
    with JudgeServer([GOOD, PASSING[fault], PASSING[fault], GOOD]) as server:
        changes = {"timeout_s": limit_of(fault), "model": f"{provider}/judge"}
        reply, ledger = put(server, after="b", **changes)
        assert server.count == 4
    assert isinstance(reply, Verdict)
    assert (ledger.last.status, ledger.last.attempts) == (Status.SCORED, 3)


@takes_minutes
@pytest.mark.parametrize("fault", REASONS)
def test_what_does_not_pass_is_a_judge_error_that_is_asked_again_by_the_next_run(
    fault: str,
) -> None:
    with JudgeServer([GOOD, *[PASSING[fault]] * 3]) as server:
        reason, ledger = put(server, after="b", timeout_s=limit_of(fault), max_attempts=3)
        assert server.count == 4
        assert isinstance(reason, Unscored)
        assert reason.status is Status.JUDGE_ERROR
        assert reason.reason.startswith(REASONS[fault])
        assert (ledger.last.reply, ledger.last.attempts) == (None, 3)
        again, _ = put(server, ledger=ledger)
        assert isinstance(again, Verdict)
        assert server.count == 5


def test_retry_after_is_honoured() -> None:
    busy = Reply(status=429, content="slow down", headers={"retry-after": "0.4"})
    with JudgeServer([busy, GOOD]) as server:
        reply, _ = put(server)
        first, second = (at for at, _ in server.arrivals)
    assert isinstance(reply, Verdict)
    assert 0.4 <= second - first < PATIENCE_S


def test_a_wait_beyond_the_patience_is_not_begun() -> None:
    busy = Reply(status=429, content="slow down", headers={"retry-after": "86400"})
    with JudgeServer([busy]) as server:
        started = time.monotonic()
        reason, _ = put(server)
        assert time.monotonic() - started < PATIENCE_S
        assert server.count == 1
    assert isinstance(reason, Unscored)
    assert reason.reason == "rate_limit: the server asks to wait for 86400 s"


def test_a_busy_server_is_asked_less_at_once_until_it_is_not() -> None:
    under_way = 0
    with JudgeServer(latency=0.02, gate=8) as server:

        def script(_: object) -> Reply:
            nonlocal under_way
            under_way = max(under_way, server.under_way)
            return GOOD if server.under_way <= 4 else Reply(status=429, content="busy")

        server.script = script
        ledger = FolderLedger()
        with LedgerJudge(settings(server, concurrency=16, max_attempts=12), ledger) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(80)]
            assert all(isinstance(future.result(PATIENCE_S), Verdict) for future in futures)
        refused = server.count - 80
    assert 8 <= under_way <= 16
    assert refused < 80
    assert max(judgment.attempts for judgment in ledger.kept) > 1


def test_no_more_are_under_way_than_allowed_and_as_many_as_that() -> None:
    with JudgeServer(lambda _: GOOD, latency=0.02, gate=7) as server:
        with LedgerJudge(settings(server, concurrency=7), FolderLedger()) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(40)]
            for future in futures:
                future.result(PATIENCE_S)
        assert server.most == 7


@takes_minutes
def test_requests_are_spread_over_the_minute() -> None:
    with JudgeServer(lambda _: GOOD) as server:
        started = time.time()
        with LedgerJudge(settings(server, requests_per_minute=1200), FolderLedger()) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(50)]
            for future in futures:
                future.result(PATIENCE_S)
        last = server.arrivals[-1][0]
    # 50 requests at 20 a second, the first 20 of which may go at once: 1.5 s.
    assert 1.4 <= last - started < PATIENCE_S


def test_a_long_failure_of_one_question_leaves_the_others_alone() -> None:
    def script(request: dict[str, Any]) -> Reply:
        bad = "\nbad\n" in request["messages"][1]["content"]
        return Reply(status=500, content="oops") if bad else GOOD

    with JudgeServer(script) as server:
        plain = settings(server, max_attempts=2)
        with LedgerJudge(plain, FolderLedger()) as judge:
            futures = [judge.ask(about(text), origin(text)) for text in ("good", "bad", "fine")]
            failed = [future.exception(PATIENCE_S) is not None for future in futures]
    assert failed == [False, True, False]
