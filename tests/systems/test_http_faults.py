"""Services that fail, lie or are not there, over real connections; and secrets in none of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import ssl
import tracemalloc
from typing import Any

import pytest

from calls.errors import TransientFailure
from systems.client import Answer, ReturnedError, SystemRefused, WrongShape
from systems.clients import make_client
from tests.support.scripted_reply import Reply
from tests.systems.service import (
    QUESTION,
    TEXT,
    Received,
    Service,
    ask,
    ask_once,
    said,
    system,
)

MEGABYTE = 1_000_000
GOOD = Reply(body=b"the Seine", headers=TEXT)
GZIP = {"content-encoding": "gzip"}
PAGE = {"content-type": "text/html"}
KEY = "sk-very+secret key=0123456789%"


def error(status: int, body: bytes = b"first line\nsecond", **headers: str) -> Reply:
    """An answer to a failed request."""
    return Reply(status=status, body=body, headers=TEXT | headers)


@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize(("wait", "seconds"), [("2", 2.0), ("0.5", 0.5), ("soon", None)])
def test_a_busy_service_says_when_it_will_answer(
    status: int, wait: str, seconds: float | None
) -> None:
    failure, _ = ask(error(status, **{"retry-after": wait}))
    assert isinstance(failure, TransientFailure)
    assert (failure.busy, failure.retry_after, failure.billed) == (True, seconds, False)
    assert str(failure) == f"status {status}: first line"


@pytest.mark.parametrize("status", [408, 425, 500, 502, 504])
def test_a_broken_service_is_asked_again(status: int) -> None:
    failure, received = ask(error(status))
    assert isinstance(failure, TransientFailure)
    assert not failure.busy
    assert len(received) == 1  # the caller decides when


@pytest.mark.parametrize("status", [400, 406, 409, 413, 422, 451])
def test_a_rejected_question_is_an_error_of_the_system(status: int) -> None:
    failure, _ = ask(error(status, b"\n\n  too   long:\t7\x00\nsecond"))
    assert isinstance(failure, ReturnedError)
    assert str(failure) == f"status {status}: too long: 7\ufffd"


@pytest.mark.parametrize("status", [401, 402, 403, 404, 405, 407])
def test_a_wrong_key_or_address_ends_the_run(status: int) -> None:
    failure, _ = ask(error(status))
    assert isinstance(failure, SystemRefused)
    assert "systems.rag: the service refuses the " in str(failure)
    assert f"status {status}: first line" in str(failure)


@pytest.mark.parametrize(
    ("status", "path", "kind"),
    [
        (401, "/ask", SystemRefused),
        (403, "/ask", ReturnedError),
        (404, "/ask", ReturnedError),
        (404, "/ask/{{ question_id }}", ReturnedError),
    ],
)
def test_after_an_answer_only_a_wrong_key_ends_the_run(
    status: int, path: str, kind: type[Exception]
) -> None:
    async def run() -> None:
        async with Service([GOOD, error(status)]) as service:
            client = make_client(system(service.url, path=path), [QUESTION])
            await client.open()
            await client.ask(client.request(QUESTION), 0)
            with pytest.raises(kind, match=f"status {status}: first line"):
                await client.ask(client.request(QUESTION), 0)
            await client.close()

    asyncio.run(run())


def test_a_page_that_is_missing_for_one_question_is_about_that_question() -> None:
    failure, _ = ask(error(404), path="/ask/{{ question_id }}")
    assert isinstance(failure, ReturnedError)


BODY = b'{"answer": "' + b"x" * 50_000 + b'"}'


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (Reply(body=BODY, cut=True), "the connection broke"),
        (Reply(body=gzip.compress(BODY)[:-20], headers=GZIP), "the answer is damaged"),
        (Reply(body=BODY, headers=GZIP), "the answer is damaged"),
        (
            Reply(body=b"", cut=True, headers={"content-length": "10"}),
            "the connection broke",
        ),
    ],
)
def test_half_an_answer_is_none(script: Reply, reason: str) -> None:
    cut = (
        Reply(body=script.body, headers=script.headers, cut=True)
        if b"\r\n" in (script.body or b"")
        else script
    )
    failure, _ = ask(cut)
    assert isinstance(failure, TransientFailure)
    assert reason in str(failure)
    assert failure.billed


def test_a_service_that_is_not_there(unused_port: int) -> None:
    failure = asyncio.run(ask_once(f"http://127.0.0.1:{unused_port}"))
    assert isinstance(failure, TransientFailure)
    assert f"no connection to http://127.0.0.1:{unused_port}: " in str(failure)
    assert "refused" in str(failure).lower()
    assert not failure.billed
    unknown = asyncio.run(ask_once("http://no-such-host.invalid"))
    assert isinstance(unknown, TransientFailure)
    assert str(unknown).startswith("no connection to http://no-such-host.invalid: ")


@pytest.mark.parametrize("headers", [{}, GZIP])
@pytest.mark.parametrize("megabytes", [1, 100])
def test_an_answer_is_limited_before_it_is_in_memory(
    megabytes: int, headers: dict[str, str]
) -> None:
    body = b" " * (megabytes * MEGABYTE)
    if headers:
        body = gzip.compress(body)
    answer = Reply(body=body, headers=TEXT | headers)
    ask(GOOD)  # httpx is imported by then
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        failure, _ = ask(answer, max_reply_mb=2)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    if megabytes == 1:
        assert isinstance(failure, Answer)
        return
    assert isinstance(failure, ReturnedError)
    expected = "the answer is larger than 2 MB, the limit of systems.rag.max_reply_mb"
    assert str(failure) == expected
    if headers:  # without them the service itself holds the body
        assert peak < 20 * MEGABYTE


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    failure, _ = ask(Reply(body=b" " * MEGABYTE, endless=True, headers=TEXT), max_reply_mb=1)
    assert isinstance(failure, ReturnedError)


DIGITS = b"1" + b"0" * 5000


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<html>\n<title>Login</title>", "found <html>"),
        (b"", "an empty body"),
        (b'{"answer": "x"', "expected JSON"),
        (b'{"answer": NaN}', "NaN, which is not a JSON number"),
        (b'{"answer": Infinity}', "Infinity"),
        (b'{"answer": ' + DIGITS + b"}", "digits"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (b'{"answer": "\xff"}', "not UTF-8"),
        (b"5", "'$.answer' finds nothing in the reply 5"),
        (b'"{\\"answer\\": \\"x\\"}"', "finds nothing in the reply '{"),
        (b"{}", "finds nothing in the reply, which is an empty object"),
        (json.dumps({f"key {n}\n": n for n in range(500)}).encode(), "and 488 more"),
    ],
)
def test_what_is_not_the_expected_json_says_what_it_is(body: bytes, reason: str) -> None:
    failure, _ = ask(Reply(body=body), answer="$.answer")
    assert isinstance(failure, WrongShape)
    assert reason in str(failure)
    assert "\n" not in str(failure)
    assert len(str(failure)) < 600


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (b"<p>Sign in</p>", PAGE, "found text/html: <p>Sign in</p>"),
        (b"data: x\n\n", {"content-type": "text/event-stream"}, "set `http.stream` to the"),
        (b"\xff\xfe\xff", TEXT, "expected a text in 'utf-8', found other bytes"),
        (b"x", {"content-type": "text/plain; charset=klingon"}, "'klingon'"),
        (b"[1]", {}, "expected a text or an object"),
        (b'{"anwser": "x"}', {}, "unknown field 'anwser' (did you mean 'answer'?)"),
    ],
)
def test_what_is_neither_a_text_nor_a_prediction_is_no_answer(
    body: bytes, headers: dict[str, str], reason: str
) -> None:
    failure, _ = ask(Reply(body=body, headers=headers))
    assert isinstance(failure, WrongShape)
    assert reason in str(failure)


def moved(location: str, status: int = 307) -> Reply:
    """A redirect."""
    return Reply(status=status, body=b"", headers={"location": location})


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_within_the_origin_gets_the_same_request(status: int) -> None:
    answer, received = ask([moved("/ask/", status), GOOD], headers={"X-Key": "k"})
    assert answer.fields == {"answer": "the Seine"}
    assert [each.path for each in received] == ["/ask", "/ask/"]
    assert received[0].method == received[1].method == "POST"
    assert received[0].body == received[1].body != b""
    assert received[1].headers["x-key"] == "k"


def test_see_other_fetches_the_answer() -> None:
    answer, received = ask([moved("result?n=1", 303), GOOD])
    assert answer.fields == {"answer": "the Seine"}
    assert (received[1].method, received[1].path, received[1].body) == ("GET", "/result?n=1", b"")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_origin_gets_nothing(status: int) -> None:
    async def run() -> Any:
        async with Service([GOOD]) as other:
            away = moved(f"{other.url}/ask?token=secret", status)
            async with Service([away]) as service:
                failure = await ask_once(service.url, headers={"authorization": KEY})
            assert other.connections == 0
        return failure

    failure = asyncio.run(run())
    assert isinstance(failure, WrongShape)
    assert "redirects to another origin, http://127.0.0.1:" in str(failure)
    assert "set systems.rag.url to it" in str(failure)
    assert "secret" not in str(failure)


@pytest.mark.parametrize("location", ["http://[", "ftp://h/x", "http://h:99999999/"])
def test_a_redirect_to_nowhere_is_said_to_be_one(location: str) -> None:
    failure, received = ask(moved(location))
    assert isinstance(failure, WrongShape)
    assert "redirects to" in str(failure)
    assert len(received) == 1


def test_redirects_in_a_circle_end() -> None:
    failure, received = ask(moved("/ask"))
    assert isinstance(failure, WrongShape)
    assert len(received) == 6


def test_https_to_a_service_of_plain_http_says_so() -> None:
    async def run() -> Any:
        async with Service([GOOD]) as service:
            return await ask_once(service.url.replace("http:", "https:"))

    failure = asyncio.run(run())
    assert isinstance(failure, SystemRefused)
    assert "set systems.rag.url to http://" in str(failure)


def test_a_broken_tls_handshake_is_tried_again() -> None:
    async def run() -> Any:
        async with Service([GOOD], ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)) as service:
            return await ask_once(service.url)

    assert isinstance(asyncio.run(run()), TransientFailure)


def echo(status: int = 200, **headers: str) -> Any:
    """A service that repeats all that it got, in every form."""

    def script(received: Received) -> Reply:
        shown = f"{received.path} {json.dumps(dict(received.headers))} {received.headers['x-key']}"
        return Reply(
            status=status, body=shown.encode(), headers={"content-type": "text/plain"} | headers
        )

    return script


def in_json(received: Received) -> Reply:
    """A service that repeats the key in names and values of JSON."""
    key = received.headers["x-key"]
    return said({"answer": key, "extra": {key: [key]}})


SCRIPTS: dict[str, Any] = {
    **{f"status {n}": echo(n) for n in (200, 400, 401, 403, 404, 418, 429, 500, 503)},
    "page": echo(**PAGE),
    "events": echo(**{"content-type": "text/event-stream"}),
    "bad charset": echo(**{"content-type": "text/plain; charset=klingon"}),
    "said to be JSON": echo(**{"content-type": "application/json"}),
    "redirect away": lambda got: moved(f"http://h.example/{got.headers['x-key']}"),
    "redirect to nowhere": lambda got: moved(f"http://[{got.headers['x-key']}"),
    "JSON": in_json,
    "unknown field": lambda got: said({got.headers["x-key"]: 1}),
    "error": lambda got: said({"error": got.headers["x-key"]}),
    "cut": Reply(body=BODY, cut=True),
}
FORMS = ("sk-very", "0123456789", "secret")


@pytest.mark.parametrize("paths", [{}, {"answer": "$.answer"}, {"answer": "$.nowhere"}])
@pytest.mark.parametrize("name", SCRIPTS)
def test_no_answer_and_no_failure_holds_a_secret(
    name: str,
    paths: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("RAG_KEY", KEY)
    outcome, received = ask(
        SCRIPTS[name],
        path="/ask?key=${RAG_KEY}",
        headers={"X-Key": "${RAG_KEY}"},
        **paths,
    )
    assert received[0].headers["x-key"] == KEY
    shown = f"{outcome!r} {outcome} {caplog.text}"
    assert not any(form in shown for form in FORMS), shown


@pytest.mark.parametrize(
    ("path", "header", "value"),
    [
        ("/ask", "${RAG_KEY}", f"{KEY}\n"),
        ("/ask", "${RAG_KEY}", f"{KEY}\r\nHost: evil"),
        (":${RAG_KEY}/ask", "x", f"sk-very/{KEY}"),
    ],
)
def test_a_secret_that_cannot_be_sent_is_not_shown(
    path: str, header: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_KEY", value)
    refused = asyncio.run(ask_once("http://127.0.0.1", path=path, headers={"X-Key": header}))
    assert isinstance(refused, SystemRefused)
    assert not any(form in f"{refused!r}" for form in FORMS)
    assert "RAG_KEY" in str(refused)


def test_a_client_and_its_settings_show_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_KEY", KEY)
    settings = system("http://h/${RAG_KEY}", headers={"X-Key": "${RAG_KEY}"})
    client = make_client(settings, [QUESTION])
    shown = f"{client!r} {settings!r} {client.request(QUESTION)!r} {settings.parameters()}"
    assert not any(form in shown for form in FORMS)
