"""Where LiteLLM does not use aiohttp, its client certificate and HTTP/2 still take effect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from calls.errors import TransientFailure
from calls.http.litellm_transport import close_connections
from calls.litellm_model import CalledModel
from tests.support.judge_server import JudgeServer

if TYPE_CHECKING:
    from pathlib import Path


def complete(server: JudgeServer) -> str | None:
    model = CalledModel(
        name="openai/judge",
        api_base=server.url,
        secret=None,
        timeout_s=20,
        max_reply_mb=1,
        section="judge",
        title="the model",
    )

    async def call() -> str | None:
        try:
            return (await model.complete([{"role": "user", "content": "Is it so?"}], {})).text
        finally:
            await close_connections()

    return asyncio.run(call())


def test_a_certificate_that_is_missing_fails_the_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", "True")
    monkeypatch.setenv("SSL_CERTIFICATE", str(tmp_path / "missing.pem"))
    with JudgeServer() as server:
        with pytest.raises(TransientFailure):
            complete(server)
        assert server.count == 0


@pytest.mark.parametrize("enabled", [False, True])
def test_http2_is_enabled_as_in_litellm(enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_AIOHTTP_TRANSPORT", "True")
    monkeypatch.setenv("LITELLM_HTTP2", str(enabled))
    made: list[Any] = []
    make = httpx.AsyncClient.__init__

    def record(client: httpx.AsyncClient, *args: Any, **options: Any) -> None:
        made.append((options.get("transport"), options.get("http2", False)))
        make(client, *args, **options)

    monkeypatch.setattr(httpx.AsyncClient, "__init__", record)
    with JudgeServer() as server:
        assert complete(server)
    assert (None, enabled) in made
