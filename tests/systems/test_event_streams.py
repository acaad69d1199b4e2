"""HTTP services that stream their answers as server-sent events."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calls.errors import TransientFailure
from systems.client import Answer, ReturnedError, SystemRefused, WrongShape
from systems.http.events import Event, read_events
from tests.systems.service import QUESTION, ask_once, said
from tests.systems.service import ask as ask_service
from tests.systems.stream_server import PAUSE, SLEEP_S, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

STREAM = "$.delta.text"


def event(**fields: Any) -> bytes:
    return f"data: {json.dumps(fields)}\n\n".encode()


def part(text: str | None) -> bytes:
    return event(delta={"text": text})


def ask(pieces: Sequence[bytes | None], *, is_ended: bool = True, **changes: Any) -> Any:
    """Ask a service that sends pieces, with pauses where one is None."""

    async def run() -> Any:
        async with serving(pieces, [], is_ended=is_ended) as url:
            return await ask_once(url, QUESTION, **{"stream": STREAM, "timeout_s": 20.0} | changes)

    return asyncio.run(run())


def test_parts_are_joined_and_the_first_is_timed() -> None:
    silent = [event(sources=[]), b"data:\n\n", part(None), part("")]
    pieces = [*silent, part("the "), PAUSE, part("Seine")]
    answer = ask(pieces)
    assert isinstance(answer, Answer), answer
    assert answer.fields == {"answer": "the Seine"}
    assert answer.first_token_s is not None
    assert answer.seconds is not None
    assert answer.first_token_s < SLEEP_S <= answer.seconds


def test_the_first_part_is_not_the_first_event() -> None:
    answer = ask([event(sources=[]), PAUSE, part("the Seine")])
    assert answer.first_token_s >= SLEEP_S


def test_other_fields_are_read_from_the_list_of_events() -> None:
    pieces = [
        event(sources=[{"id": "d1", "text": "Paris ..."}, {"id": "d2", "text": "Rhine ..."}]),
        part("the Seine"),
        event(usage={"usd": 0.25, "out": 2}),
        b"data: [DONE]\n\n",
    ]
    paths = {
        "retrieved": {"doc_id": "$[*].sources[*].id", "text": "$[*].sources[*].text"},
        "cost_usd": "$[-1].usage.usd",
        "tokens_out": "$[*].usage.out",
    }
    answer = ask(pieces, **paths)
    assert isinstance(answer, Answer), answer
    assert answer.fields == {
        "answer": "the Seine",
        "retrieved": [
            {"doc_id": "d1", "text": "Paris ..."},
            {"doc_id": "d2", "text": "Rhine ..."},
        ],
        "cost_usd": 0.25,
    }
    assert answer.tokens_out == 2


def test_an_error_in_the_stream_is_an_error_of_the_system() -> None:
    failure = ask([part("the "), event(error="no index")], error="$[*].error")
    assert isinstance(failure, ReturnedError)
    assert str(failure) == "no index"


@pytest.mark.parametrize(
    ("pieces", "failure", "reason"),
    [
        ([], TransientFailure, "the stream ended before its first event"),
        ([b": ping\n\n"], TransientFailure, "the stream ended before its first event"),
        ([part("a"), b'data: {"delta": {"te'], TransientFailure, "ended within an event"),
        ([b"data: the Seine\n\n"], WrongShape, "expected JSON, found the Seine"),
        ([event(delta={"text": 5})], WrongShape, "http.stream: expected a text, found 5"),
        (
            [event(piece="a"), event(piece="b")],
            WrongShape,
            "'$.delta.text' finds nothing in 2 events, of which the first has the keys 'piece'",
        ),
    ],
)
def test_what_is_no_answer(pieces: list[bytes], failure: type[Exception], reason: str) -> None:
    found = ask(pieces)
    assert isinstance(found, failure), repr(found)
    assert reason in str(found)


def test_a_stream_that_breaks_off_is_a_failed_transport() -> None:
    found = ask([part("the ")], is_ended=False)
    assert isinstance(found, TransientFailure)
    assert "the connection broke" in str(found)


def test_a_slow_stream_is_a_time_out() -> None:
    with pytest.raises(TimeoutError):
        ask([part("the "), PAUSE, PAUSE, part("Seine")], timeout_s=0.4)


def test_a_stream_is_limited() -> None:
    found = ask([part("x" * 100_000)] * 30, max_reply_mb=1)
    assert isinstance(found, ReturnedError)
    assert "larger than 1 MB" in str(found)


def test_a_key_in_two_parts_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_KEY", "sk-0123456789")
    found = ask([part("sk-012"), part("3456789")], headers={"X-Key": "${RAG_KEY}"})
    assert found.fields == {"answer": "***"}


def test_an_answer_that_is_not_streamed_is_a_wrong_shape() -> None:
    found, received = ask_service(said({"answer": "x"}), stream=STREAM)
    assert isinstance(found, WrongShape)
    assert "expected text/event-stream, as `http.stream` is set, found application" in str(found)
    assert received[0].headers["accept"] == "text/event-stream"


def test_a_path_that_is_none_is_refused() -> None:
    found, _ = ask_service(said({}), stream="delta.text")
    assert isinstance(found, SystemRefused)
    assert "systems.rag.http.stream: 'delta.text' is not a JSONPath" in str(found)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_events_are_those_of_the_standard(ending: str) -> None:
    lines = [
        *("\ufeff: a comment", "event: message", "id: 7", "data: one", "data:two", "data:  three"),
        *("", "retry: 10", "", "data", "", "data: last"),
    ]
    body = ending.join(lines).encode()
    found = list(read_events(body))
    assert [each.data for each in found] == [b"one\ntwo\n three", b"", b"last"]
    assert [each.is_whole for each in found] == [True, True, False]
    assert found[-1].end == len(body)


@given(st.lists(st.text().filter(lambda text: "\r" not in text), min_size=1))
def test_every_text_survives(texts: list[str]) -> None:
    blocks = ["".join(f"data: {line}\n" for line in text.split("\n")) for text in texts]
    found = list(read_events(("\n".join(blocks) + "\n").encode("utf-8", "surrogatepass")))
    assert [each.data.decode("utf-8", "surrogatepass") for each in found] == texts
    assert all(isinstance(each, Event) and each.is_whole for each in found)
