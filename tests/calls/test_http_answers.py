"""Lying servers: answers that are too large or make no sense, redirects, and http for https."""

from __future__ import annotations

import json
import ssl
import tracemalloc
from typing import Any

import pytest

from calls.litellm_model import litellm
from evaluators.engines.judge.errors import JudgeUnreachable
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.outcome import Status, Unscored
from tests.evaluators.engines.judge.questions import (
    KEY,
    KEY_ENV,
    PAGE,
    PATIENCE_S,
    Verdict,
    about,
    origin,
    put,
    settings,
)
from tests.support.faulty_replies import GOOD, LIES, MEGABYTE, YES, answered, bomb, usage
from tests.support.judge_server import JudgeServer
from tests.support.ledgers import FolderLedger
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

PROVIDERS = pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
"""LiteLLM calls one through OpenAI's client and the other through its own."""

PRICES: dict[str, Any] = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}


@PROVIDERS
@pytest.mark.parametrize("lie", LIES)
def test_an_answer_that_makes_no_sense_ends_one_sample_at_once(lie: str, provider: str) -> None:
    said, reason = LIES[lie]
    with JudgeServer([said, GOOD]) as server:
        plain = settings(server, model=f"{provider}/judge", max_reply_mb=1, **PRICES)
        ledger = FolderLedger()
        with LedgerJudge(plain, ledger) as judge:
            failure = judge.ask(about("1"), origin("q1")).exception(PATIENCE_S)
            reply = judge.ask(about("2"), origin("q2")).result(PATIENCE_S)
        assert server.count == 2
    assert isinstance(reply, Verdict)
    assert isinstance(failure, Unscored)
    assert failure.status is Status.JUDGE_ERROR
    assert failure.reason.startswith("bad_answer: ")
    assert reason in failure.reason
    assert all((judgment.cost_usd or 0) >= 0 for judgment in ledger.kept)


def test_tokens_that_are_whole_or_unknown_are_no_lie() -> None:
    for said, tokens in [(usage(12.0), (12, 20)), (usage(None, None), (None, None))]:
        with JudgeServer([said]) as server:
            reply, ledger = put(server, **PRICES)
        assert isinstance(reply, Verdict)
        assert (ledger.last.tokens_in, ledger.last.tokens_out) == tokens
        assert (ledger.last.cost_usd is None) == (tokens == (None, None))


DETAILS: list[dict[str, Any]] = [
    {"prompt_tokens_details": {"cached_tokens": -(10**9)}},
    {"prompt_tokens_details": {"cached_tokens": 10**9}},
    {"prompt_tokens_details": {"cached_tokens": 10**30}, "cost": "free"},
    {"cache_read_input_tokens": 10**9, "cache_creation_input_tokens": -(10**9)},
]


@pytest.mark.parametrize("details", DETAILS)
def test_no_details_of_a_provider_make_a_cost_negative(details: dict[str, Any]) -> None:
    numbers = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    said = Reply(content=YES, usage={**numbers, **details})
    with JudgeServer([said]) as server:
        reply, ledger = put(server, model="openai/gpt-4o-mini")  # with prices for cached tokens
    assert isinstance(reply, Verdict)
    assert ledger.last.cost_usd is not None
    assert ledger.last.cost_usd > 0


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # as in a run
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"model": "judge-2026-01-01"', '"model": 5'),
        ('"system_fingerprint": "fp_1"', '"system_fingerprint": {"a": [1]}'),
        ('"refusal": null', '"refusal": 5'),
        ('"created": 1', f'"created": {10**40}'),
        ('"finish_reason": "stop"', '"finish_reason": 7'),
    ],
)
def test_fields_that_no_verdict_needs_may_hold_anything(old: str, new: str) -> None:
    with JudgeServer([answered(GOOD, (old, new))]) as server:
        reply, _ = put(server)
        assert server.count == 1
    assert isinstance(reply, Verdict)


@PROVIDERS
@pytest.mark.parametrize(
    "change",
    [
        ('"message": {', '"message": null, "other": {'),
        ('"role": "assistant", "content": ', '"role": "assistant", "content": 5, "other": '),
        ('"choices": [', '"choices": "none", "other": ['),
    ],
)
def test_reasons_hold_neither_stack_traces_nor_local_paths(
    change: tuple[str, str], provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    said = answered(Reply(content=f"{KEY} {YES}"), change)
    with JudgeServer([GOOD, said, said]) as server:
        changes = {"max_attempts": 2, "api_key_env": KEY_ENV}
        failure, ledger = put(server, after="b", model=f"{provider}/judge", **changes)
    assert isinstance(failure, Unscored)
    assert failure.status is Status.JUDGE_ERROR
    assert ledger.last.error == failure.reason
    assert failure.reason.startswith(("transport: ", "bad_answer: "))
    assert len(failure.reason) <= 300
    for part in ("Traceback", 'File "', "site-packages", "/litellm", "Get Help", KEY):
        assert part not in failure.reason


def test_no_reply_and_no_reason_holds_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENV, KEY)
    said = [Reply(content=YES.replace("yes", f"{'x' * n}{KEY}")) for n in (150, 170)]
    with JudgeServer(said) as server:
        failure, ledger = put(server, api_key_env=KEY_ENV)
        sent = json.dumps(server.requests)
    assert isinstance(failure, Unscored)
    assert failure.status is Status.PARSE_FAILURE
    assert len(failure.reason) <= 300
    for text in (failure.reason, ledger.last.error or "", ledger.last.reply or "", sent):
        assert "sk-" not in text


@pytest.mark.parametrize("odd", ["\0", "\ud800"])
def test_a_reply_holds_only_what_a_database_can_store(odd: str) -> None:
    with JudgeServer([Reply(content=YES.replace("It is", odd))]) as server:
        _, ledger = put(server)
    text = ledger.last.reply or ""
    assert "so." in text
    assert "\0" not in text
    assert text.encode()


@PROVIDERS
@pytest.mark.parametrize("megabytes", [3, 100])
def test_a_compressed_reply_is_limited_before_it_is_in_memory(
    megabytes: int, provider: str
) -> None:
    packed = Reply(body=bomb(megabytes), headers={"content-encoding": "gzip"})
    with (
        JudgeServer([GOOD, packed]) as server,
        LedgerJudge(settings(server, model=f"{provider}/judge"), FolderLedger()) as judge,
    ):
        judge.ask(about("1"), origin("q1")).result(PATIENCE_S)  # LiteLLM is imported by then
        tracemalloc.start()
        try:
            answer = judge.ask(about("2"), origin("q2"))
            failure = answer.exception(PATIENCE_S)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    if megabytes == 3:
        assert isinstance(answer.result(), Verdict)
        return
    assert isinstance(failure, Unscored)
    assert failure.reason == "bad_answer: larger than 4 MB, the limit of judge.max_reply_mb"
    assert peak < 40 * MEGABYTE


@PROVIDERS
def test_a_reply_without_end_is_not_read_to_its_end(provider: str) -> None:
    endless = Reply(body=b" " * MEGABYTE, endless=True)
    with JudgeServer([endless]) as server:
        failure, _ = put(server, model=f"{provider}/judge")
    assert isinstance(failure, Unscored)
    assert failure.reason == "bad_answer: larger than 4 MB, the limit of judge.max_reply_mb"
    assert server.poured < 80 * MEGABYTE


def test_the_transport_of_httpx_has_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", "True")
    large = Reply(body=bomb(20), headers={"content-encoding": "gzip"})
    with JudgeServer() as other, JudgeServer() as server:
        away = Reply(status=307, headers={"location": f"{other.url}/chat/completions"})
        server.script = [GOOD, large, away, GOOD]
        # LiteLLM keeps a client for each timeout.
        with LedgerJudge(settings(server, timeout_s=17.5), FolderLedger()) as judge:
            judge.ask(about("0"), origin("0")).result(PATIENCE_S)
            reasons = [str(judge.ask(about(n), origin(n)).exception(PATIENCE_S)) for n in "12"]
            assert isinstance(judge.ask(about("3"), origin("3")).result(PATIENCE_S), Verdict)
        assert other.connections == 0
    assert [reason.partition(":")[0] for reason in reasons] == ["bad_answer", "wrong_address"]


def test_a_large_page_of_an_error_is_still_that_error() -> None:
    busy = Reply(status=429, body=b"<p>busy</p>" * 1_000_000, headers=PAGE)
    with JudgeServer([busy, GOOD]) as server:
        reply, ledger = put(server)
    assert isinstance(reply, Verdict)
    assert ledger.last.attempts == 2


def test_a_hard_budget_counts_what_was_set_aside_for_answers_of_unknown_cost() -> None:
    with JudgeServer(lambda _: usage(-(10**9), -(10**9))) as server:
        plain = settings(server, budget_usd=0.002, concurrency=4, max_tokens=200, **PRICES)
        with LedgerJudge(plain, FolderLedger()) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(60)]
            reasons = [str(future.exception(PATIENCE_S)) for future in futures]
        asked = server.count
    assert 1 <= asked < 10
    assert sum(reason.startswith("bad_answer") for reason in reasons) == asked
    assert sum(reason.startswith("budget") for reason in reasons) == 60 - asked


@PROVIDERS
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_origin_does_not_get_the_request(status: int, provider: str) -> None:
    with JudgeServer() as other, JudgeServer() as server:
        target = f"{other.url}/chat/completions?token=secret"
        server.script = [GOOD, Reply(status=status, headers={"location": target}), GOOD]
        with LedgerJudge(settings(server, model=f"{provider}/judge"), FolderLedger()) as judge:
            judge.ask(about("0"), origin("q0")).result(PATIENCE_S)
            failure = judge.ask(about("1"), origin("q1")).exception(PATIENCE_S)
            reply = judge.ask(about("2"), origin("q2")).result(PATIENCE_S)
        assert server.count == 3
        assert (other.connections, other.count) == (0, 0)
    assert isinstance(reply, Verdict)
    assert isinstance(failure, Unscored)
    assert failure.status is Status.JUDGE_ERROR
    assert failure.reason.startswith("wrong_address: the server redirects to another origin, ")
    assert f"http://127.0.0.1:{other.port}," in failure.reason
    assert "secret" not in failure.reason


def test_a_redirect_of_the_first_call_ends_the_run_and_says_what_to_set() -> None:
    with JudgeServer() as other:
        away = Reply(status=308, headers={"location": f"{other.url}/chat/completions"})
        with JudgeServer(lambda _: away) as server:
            with pytest.raises(JudgeUnreachable, match=r"another origin.*set judge\.api_base"):
                put(server)
            assert (server.count, other.connections) == (1, 0)


@PROVIDERS
@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_within_the_origin_gets_the_same_request(status: int, provider: str) -> None:
    within = Reply(status=status, headers={"location": "/v2/chat/completions"})
    with JudgeServer([within, GOOD]) as server:
        reply, ledger = put(server, model=f"{provider}/judge")
        assert server.requests[0] == server.requests[1]
    assert isinstance(reply, Verdict)
    assert ledger.last.attempts == 1


def test_other_users_of_httpx_and_aiohttp_are_not_affected() -> None:
    import aiohttp
    import httpx

    litellm()
    for method in (
        httpx.AsyncHTTPTransport.handle_async_request,
        httpx.AsyncClient.send,
        aiohttp.ClientSession._request,
    ):
        assert method.__module__.partition(".")[0] in {"httpx", "aiohttp"}
        assert not hasattr(method, "__wrapped__")


@PROVIDERS
def test_https_to_a_server_of_plain_http_says_so(provider: str) -> None:
    with JudgeServer() as server:
        address = server.url.replace("http://", "https://")
        with pytest.raises(JudgeUnreachable, match=r"plain http: set judge\.api_base to http://"):
            put(server, api_base=address, model=f"{provider}/judge")
        assert server.count == 0


@PROVIDERS
def test_plain_http_to_a_server_of_https_says_so(provider: str) -> None:
    without_certificate = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with (
        JudgeServer(tls=without_certificate) as server,
        pytest.raises(JudgeUnreachable, match=r"expects https, set judge\.api_base to https://"),
    ):
        put(server, model=f"{provider}/judge")


def test_a_page_about_https_says_so_too() -> None:
    page = b"<h1>The plain HTTP request was sent to HTTPS port</h1>"
    with (
        JudgeServer(lambda _: Reply(status=400, body=page, headers=PAGE)) as server,
        pytest.raises(JudgeUnreachable, match=r"expects https: set judge\.api_base to https://"),
    ):
        put(server)


@takes_minutes
def test_eighty_megabytes_are_refused_by_their_length() -> None:
    with JudgeServer([Reply(content=YES.replace("It is so.", "x" * 80 * MEGABYTE))]) as server:
        failure, ledger = put(server)
    assert isinstance(failure, Unscored)
    assert failure.reason.startswith("bad_answer: larger than 4 MB")
    assert ledger.last.reply is None
