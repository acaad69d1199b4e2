"""Requests to HTTP services as they arrive, and answers as they are read."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from systems.client import (
    Answer,
    ReturnedError,
    SystemRefused,
    WrongShape,
)
from systems.clients import make_client
from tests.support.scripted_reply import Reply
from tests.systems.service import (
    QUESTION,
    TEXT,
    Service,
    ask,
    ask_once,
    said,
    system,
)

if TYPE_CHECKING:
    from tests.support.scripted_request import Received

HELLO = Reply(body=b"the Seine", headers=TEXT)


def test_a_body_has_the_fields_of_the_question_with_their_types() -> None:
    body = {
        "q": "{{ question }}",
        "prompt": "Options: {{ choices | join(', ') }}\n",
        "options": "{{ choices }}",
        "limit": "{{ extra.limit }}",
        "nested": [{"lang": "{{ tags.lang }}"}, 1.5, True, None],
        "doc": "{{ doc_id }}",
    }
    answer, received = ask(HELLO, body=body, headers={"X-Team": "a b"})
    assert answer == Answer(fields={"answer": "the Seine"})
    assert received[0].json == {
        "q": "Which river flows through Paris?",
        "prompt": "Options: Seine, Rhine\n",
        "options": ["Seine", "Rhine"],
        "limit": 3,
        "nested": [{"lang": "en"}, 1.5, True, None],
        "doc": None,
    }
    assert (received[0].method, received[0].path) == ("POST", "/ask")
    assert received[0].headers["x-team"] == "a b"
    assert received[0].headers["content-type"] == "application/json"


@given(st.text())
def test_no_text_of_a_question_changes_the_form_of_a_body(text: str) -> None:
    client = make_client(
        system("http://h", body={"a": "{{ question }}", "b": "x{{ question }}y"}), []
    )
    request = client.request({"question_id": "q", "question": text})
    assert request.sent["body"] == {"a": text, "b": f"x{text}y"}
    assert json.loads(json.dumps(request.key)) == request.key


HOSTILE = '{{ 7*7 }} {% raw %} ", "admin": true, "x": "\\\n\t\u2028${HOME} <script>'


@pytest.mark.parametrize("text", [HOSTILE, "{{ question }}", "}}", "😀", "é\u0000"])
def test_a_hostile_question_arrives_as_it_is(text: str) -> None:
    question = {**QUESTION, "question": text}
    _, received = ask(HELLO, question, body={"a": "{{ question }}", "b": "-{{ question }}-"})
    assert received[0].json == {"a": text, "b": f"-{text}-"}


def test_a_text_body_is_plain_text() -> None:
    _, received = ask(HELLO, body="Q: {{ question }}\nä\n")
    assert received[0].body.decode() == "Q: Which river flows through Paris?\nä\n"
    assert received[0].headers["content-type"] == "text/plain; charset=utf-8"
    _, received = ask(HELLO, body="{{ question | tojson }}", headers={"Content-Type": "text/json"})
    assert received[0].json == QUESTION["question"]
    assert received[0].headers["content-type"] == "text/json"


def test_a_url_holds_values_percent_encoded() -> None:
    path = "/ask/{{ question_id }}?q={{ question }}&n={{ extra.limit }}"
    _, received = ask(HELLO, method="GET", path=path, body=None)
    sent = "/ask/q%2F1%20%C3%A4?q=Which%20river%20flows%20through%20Paris%3F&n=3"
    assert (received[0].method, received[0].path) == ("GET", sent)
    assert received[0].body == b""
    hostile = {**QUESTION, "question_id": "../../x?a=b#c&d@evil.example\r\nx: y"}
    _, received = ask(HELLO, hostile, path="/ask/{{ question_id }}")
    assert received[0].path == "/ask/..%2F..%2Fx%3Fa%3Db%23c%26d%40evil.example%0D%0Ax%3A%20y"


def test_the_key_of_a_request_has_no_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_HOST", "secret.example")
    client = make_client(system("https://${RAG_HOST}", path="/{{ question_id }}"), [QUESTION])
    request = client.request(QUESTION)
    assert request.key == {
        "url": "https://${RAG_HOST}/q%2F1%20%C3%A4",
        "body": {"question": QUESTION["question"]},
    }
    assert client.most_usd(request) is None


def test_environment_variables_are_read_when_a_question_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAG_KEY", "sk-1 ü")
    monkeypatch.setenv("RAG_PATH", "v2/ask")
    question = {**QUESTION, "question": "${RAG_KEY}"}
    _, received = ask(
        HELLO,
        question,
        path="/${RAG_PATH}?q={{ question }}",
        headers={"Authorization": "Bearer ${RAG_KEY}"},
    )
    assert received[0].headers["authorization"].encode("latin-1").decode() == "Bearer sk-1 ü"
    assert received[0].path == "/v2/ask?q=%24%7BRAG_KEY%7D"
    assert received[0].json == {"question": "${RAG_KEY}"}


@pytest.mark.parametrize(
    ("reply", "fields"),
    [
        ({"answer": "x"}, {"answer": "x"}),
        ("x", {"answer": "x"}),
        ({"contexts": ["c"], "cost_usd": 0.5}, {"contexts": ["c"], "cost_usd": 0.5}),
    ],
)
def test_without_paths_json_is_a_prediction(reply: object, fields: dict[str, Any]) -> None:
    answer, _ = ask(said(reply))
    assert answer.fields == fields


@pytest.mark.parametrize(
    ("body", "kind", "answer"),
    [
        ("é".encode("latin-1"), "text/plain; charset=latin-1", "é"),
        (b'\xef\xbb\xbf{"answer": 1}', "text/plain", '{"answer": 1}'),
        (b"", "text/plain", ""),
        (b"- a\n- b\n", "text/markdown", "- a\n- b\n"),
        ("ä".encode(), "", "ä"),
    ],
)
def test_without_paths_a_text_is_the_answer(body: bytes, kind: str, answer: str) -> None:
    got, _ = ask(Reply(body=body, headers={"content-type": kind}))
    assert got == Answer(fields={"answer": answer})


REPLY = {
    "data": {"text": "the Seine", "class": "river"},
    "hits": [{"id": "d1", "body": "one", "score": 0.5}, {"id": "d2", "body": "two", "score": 0.25}],
    "none": [],
    "usage": {"in": 7.0, "out": 2, "usd": 0.001},
    "error": None,
    "blank": "",
    "trace": {"id": 17, "start": "2026-01-31T09:30:00Z", "end": 1769851801.5},
}
PATHS = {"answer": "$.data.text"}


@pytest.mark.parametrize(
    ("paths", "fields"),
    [
        ({"contexts": "$.hits[*].body"}, {"contexts": ["one", "two"]}),
        ({"contexts": "$.none"}, {"contexts": []}),
        ({"contexts": "$.none[*].body"}, {"contexts": []}),
        ({"contexts": "$.hits[?@.score > 0.4].body"}, {"contexts": ["one"]}),
        ({"contexts": "$.hits[?@.score > 4].body"}, {"contexts": []}),
        ({"retrieved": "$.hits"}, {"retrieved": REPLY["hits"]}),
        (
            {"retrieved": {"doc_id": "$.hits[*].id", "score": "$.hits[*].score"}},
            {"retrieved": [{"doc_id": "d1", "score": 0.5}, {"doc_id": "d2", "score": 0.25}]},
        ),
        (
            {"label": "$.data['class']", "cost_usd": "$.usage.usd"},
            {"label": "river", "cost_usd": 0.001},
        ),
        ({"answer": "$.blank"}, {"answer": ""}),
        (
            {"started_at": "$.trace.start", "ended_at": "$.trace.end", "trace_id": "$.trace.id"},
            {"started_at": "2026-01-31T09:30:00Z", "ended_at": 1769851801.5, "trace_id": 17},
        ),
        ({"answer": "$.hits[?@.id == 'd2'].body"}, {"answer": "two"}),
        ({"error": "$.error"}, {}),
        ({"error": "$.nowhere.error"}, {}),
        ({"error": "$.blank"}, {}),
        ({"error": "$.none"}, {}),
    ],
)
def test_paths_find_fields(paths: dict[str, str], fields: dict[str, Any]) -> None:
    answer, _ = ask(said(REPLY), **PATHS | paths)
    assert answer.fields == {"answer": "the Seine"} | fields


def test_tokens_are_found_too() -> None:
    answer, _ = ask(said(REPLY), **PATHS | {"tokens_in": "$.usage.in", "tokens_out": "$.usage.out"})
    assert (answer.tokens_in, answer.tokens_out) == (7, 2)


def test_a_service_may_say_that_it_failed() -> None:
    failure, _ = ask(said({"error": "no documents\nfound"}), **PATHS | {"error": "$.error"})
    assert isinstance(failure, ReturnedError)
    assert str(failure) == "no documents found"
    failure, _ = ask(said({"error": "overloaded"}))
    assert isinstance(failure, ReturnedError)


@pytest.mark.parametrize(
    ("paths", "parts"),
    [
        (
            {"answer": "$.data.txt"},
            ["systems.rag.answer", "'$.data.txt' finds nothing", "'data', 'hits', 'none'"],
        ),
        (
            {"contexts": "$.docs[*].body"},
            ["systems.rag.contexts", "'$.docs[*].body' finds nothing"],
        ),
        ({"answer": "$.hits[*].body"}, ["finds 2 values: expected one"]),
        ({"answer": "$.hits[?@.score > 4].body"}, ["finds 0 values: expected one"]),
        ({"answer": "$.usage.in"}, ["expected a text at '$.usage.in', found 7"]),
        ({"answer": "$.data"}, ["expected a text", "'text': 'the Seine'"]),
        ({"cost_usd": "$.data.text"}, ["expected a number", "'the Seine'"]),
        ({"tokens_in": "$.usage.usd"}, ["expected a whole number", "0.001"]),
        ({"contexts": "$.data.text"}, ["expected a list", "'the Seine'"]),
        (
            {"retrieved": {"doc_id": "$.hits[*].id", "text": "$.hits[0:1].body"}},
            ["different numbers of values: 2 of doc_id, 1 of text"],
        ),
    ],
)
def test_a_path_that_finds_something_else_says_what(
    paths: dict[str, str], parts: list[str]
) -> None:
    failure, _ = ask(said(REPLY), **PATHS | paths)
    assert isinstance(failure, WrongShape)
    for part in parts:
        assert part in str(failure)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": "answer"}, "answer: 'answer' is not a JSONPath at character 1"),
        ({"answer": "$.a["}, "is not a JSONPath at character 4: "),
        ({"answer": "$.a b"}, "is not a JSONPath at character "),
        ({"body": {"q": "{{ questoin }}"}}, r"body\.q, line 1: unknown name 'questoin' \(did"),
        ({"body": {"q": [{"x": "\n{{ tags.lagn }}"}]}}, r"q\[0\]\.x, line 2: no question has tag"),
        ({"body": {"q": "constant"}}, "every request would be the same"),
        ({"body": None}, "every request would be the same"),
        ({"method": "GET"}, "GET has no body"),
        ({"headers": {"X Y": "1"}}, "'X Y' is not a header name"),
        ({"headers": {"Content-Length": "1"}}, "this header cannot be set"),
        ({"headers": {"A": "x\r\nB: y"}}, "a control character"),
        ({"headers": {"A": "${NOT_SET_ANYWHERE}"}}, "NOT_SET_ANYWHERE is not set"),
        ({"path": "/{{ question", "body": None}, r"systems\.rag\.url, line 1"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused_before_anything_is_sent(
    changes: dict[str, Any], message: str
) -> None:
    refused, received = ask(HELLO, **changes)
    assert isinstance(refused, SystemRefused)
    with pytest.raises(SystemRefused, match=message):
        raise refused
    assert received == []


def test_a_template_that_fails_for_the_last_question_is_refused_before_the_first() -> None:
    async def run() -> None:
        questions = [QUESTION, {**QUESTION, "question_id": "q2", "extra": {"limit": "x"}}]
        async with Service([HELLO]) as service:
            client = make_client(
                system(service.url, body={"n": "{{ extra.limit + 1 }}"}), questions
            )
            with pytest.raises(SystemRefused, match=r"body\.n: TypeError: .*question 'q2'"):
                await client.open()
            await client.close()
            assert service.connections == 0

    asyncio.run(run())


@pytest.mark.parametrize("url", ["ftp://h/", "localhost:80/ask", "/ask"])
def test_an_address_without_http_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="expected a URL that begins with http://"):
        system(url, path="")


def test_an_answer_does_not_depend_on_cookies_of_the_one_before() -> None:
    async def run() -> list[dict[str, str]]:
        cookie = Reply(body=b"x", headers={**TEXT, "set-cookie": "session=1; Path=/"})
        async with Service([cookie]) as service:
            client = make_client(system(service.url), [QUESTION])
            await client.open()
            for _ in range(2):
                await client.ask(client.request(QUESTION), 0)
            await client.close()
            assert service.connections == 1
            return [dict(each.headers) for each in service.received]

    assert all("cookie" not in headers for headers in asyncio.run(run()))


def test_as_many_questions_as_allowed_are_sent_at_once() -> None:
    async def run() -> float:
        slow = Reply(body=b"x", headers=TEXT, delay=0.5)
        async with Service([slow]) as service:
            client = make_client(system(service.url, concurrency=20), [QUESTION])
            await client.open()
            started = asyncio.get_running_loop().time()
            await asyncio.gather(*(client.ask(client.request(QUESTION), 0) for _ in range(20)))
            await client.close()
            assert service.connections == 20
            return asyncio.get_running_loop().time() - started

    assert asyncio.run(run()) < 20 * 0.5


def test_texts_can_be_stored() -> None:
    reply = Reply(body=b'{"answer": "a\\u0000b\\ud800c", "extra": {"k\\u0000": ["\\udfff"]}}')
    answer, _ = ask(reply)
    assert answer.fields == {"answer": "a\ufffdb?c", "extra": {"k\ufffd": ["?"]}}


def test_a_cancelled_request_ends_the_connection() -> None:
    async def run() -> None:
        arrived = asyncio.Event()

        def slow(_: Received) -> Reply:
            arrived.set()
            return Reply(body=b"x", delay=60)

        async with Service(slow) as service:
            asking = asyncio.create_task(ask_once(service.url))
            await arrived.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert len(service.received) == 1

    asyncio.run(run())
