"""Latencies are those of systems: what LiteLLM loads and prepares is none."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calls.litellm_model import litellm
from systems.clients import make_client
from systems.settings import ModelSystem
from tests.support.judge_server import JudgeServer, Reply
from tests.systems.service import QUESTION

if TYPE_CHECKING:
    from systems.client import Answer

SERVED_S = 0.2
PREPARED_S = 1.0


@pytest.mark.parametrize("stream", [False, True])
def test_what_litellm_does_before_it_sends_is_no_latency(
    monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    library = litellm()
    complete = library.acompletion

    async def slowly(**keys: Any) -> Any:
        time.sleep(PREPARED_S)  # noqa: ASYNC251 - as an import does
        return await complete(**keys)

    monkeypatch.setattr(library, "acompletion", slowly)

    async def ask(address: str) -> Answer:
        model = ModelSystem(
            name="m", home=Path(), model="openai/m", api_base=address, timeout_s=20, stream=stream
        )
        client = make_client(model, [QUESTION])
        await client.open()
        return await client.ask(client.request(QUESTION), 0)

    with JudgeServer([Reply(content="x", delay=SERVED_S)]) as server:
        answer = asyncio.run(ask(server.url))
    assert answer.seconds is not None
    assert SERVED_S <= answer.seconds < PREPARED_S
