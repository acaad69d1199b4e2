"""Streamed completions: the time of the first token, and streams that break off or lie."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calls.errors import CallFailure, TransientFailure
from systems.client import Answer, ReturnedError, SystemRefused
from systems.clients import make_client
from systems.settings import ModelSystem
from tests.systems.service import QUESTION
from tests.systems.stream_server import PAUSE, SLEEP_S, serving

if TYPE_CHECKING:
    from collections.abc import Sequence

# As in a run.
pytestmark = pytest.mark.filterwarnings("ignore:Accessing the 'model_")
PROVIDERS = pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
DONE = b"data: [DONE]\n\n"


def event(content: str | None = None, finish: str | None = None, **fields: Any) -> bytes:
    """A chunk of a completion."""
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": finish}
    chunk = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "small-2026",
        "choices": [choice],
    } | fields
    return f"data: {json.dumps(chunk)}\n\n".encode()


USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
LAST = event(choices=[], usage=USAGE)


def ask(
    pieces: Sequence[bytes | None], *, is_ended: bool = True, **changes: Any
) -> tuple[Any, dict[str, Any]]:
    """Ask a server that sends pieces, with pauses where one is None; return the answer."""
    bodies: list[bytes] = []

    async def run() -> Answer | CallFailure | SystemRefused:
        async with serving(pieces, bodies, is_ended=is_ended) as address:
            plain = {"model": "openai/small", "timeout_s": 20, "stream": True}
            api_base = f"{address}/v1"
            settings = ModelSystem(name="s", home=Path(), api_base=api_base, **plain | changes)
            client = make_client(settings, [QUESTION])
            await client.open()
            try:
                return await client.ask(client.request(QUESTION), 0)
            except (CallFailure, SystemRefused) as failure:
                return failure

    outcome = asyncio.run(run())
    return outcome, json.loads(bodies[0])


@PROVIDERS
def test_the_time_of_the_first_token(provider: str) -> None:
    pieces = [event("the "), PAUSE, event("Se"), event("ine", "stop"), LAST, DONE]
    prices = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}
    started = time.monotonic()
    answer, sent = ask(pieces, model=f"{provider}/small", **prices)
    took = time.monotonic() - started
    assert isinstance(answer, Answer), answer
    assert answer.fields["answer"] == "the Seine"
    assert answer.fields["cost_usd"] == pytest.approx(13e-6)
    assert (answer.tokens_in, answer.tokens_out) == (9, 2)
    assert answer.served_by == "small-2026"
    assert 0 < answer.first_token_s <= took - SLEEP_S
    assert sent["stream"] is True
    assert sent["stream_options"] == {"include_usage": True}


def test_tokens_that_are_not_reported_are_unknown() -> None:
    answer, _ = ask([event("x", "stop"), DONE])
    assert answer.fields == {"answer": "x"}
    assert (answer.tokens_in, answer.tokens_out) == (None, None)


def test_an_empty_stream_of_text_is_an_empty_answer() -> None:
    answer, _ = ask([event(None, "length"), DONE])
    assert answer.fields == {"answer": "", "extra": {"finish_reason": "length"}}
    assert answer.first_token_s is None


@PROVIDERS
@pytest.mark.parametrize(
    ("pieces", "is_ended"),
    [
        ([event("the ")], False),
        ([event("the ")], True),
        ([event("the "), DONE], True),
        ([], True),
    ],
)
def test_a_stream_that_breaks_off_is_no_answer(
    pieces: list[bytes], is_ended: bool, provider: str
) -> None:
    failure, _ = ask(pieces, is_ended=is_ended, model=f"{provider}/small")
    assert isinstance(failure, TransientFailure), failure
    assert failure.billed


@PROVIDERS
def test_a_stream_is_limited(provider: str) -> None:
    pieces = [event("x" * 100_000)] * 30 + [event("", "stop"), DONE]
    failure, _ = ask(pieces, max_reply_mb=1, model=f"{provider}/small")
    assert isinstance(failure, ReturnedError), failure
    assert "larger than 1 MB, the limit of systems.s.max_reply_mb" in str(failure)


def test_a_slow_stream_is_a_time_out() -> None:
    failure, _ = ask([event("x"), PAUSE, PAUSE, event("y", "stop"), DONE], timeout_s=0.4)
    assert isinstance(failure, TransientFailure)
    assert str(failure) == "timeout"


@PROVIDERS
@pytest.mark.parametrize("piece", [b"data: {not json\n\n", b"<html>no</html>"])
def test_a_garbled_stream_is_no_answer(piece: bytes, provider: str) -> None:
    failure, _ = ask([event("x"), piece], model=f"{provider}/small")
    assert isinstance(failure, TransientFailure), failure
    assert len(str(failure)) < 400
