"""LiteLLM computes prices for others in the process, and none for the calls that are checked."""

from __future__ import annotations

import asyncio

import pytest

from calls.http.litellm_transport import check_answers, close_connections
from calls.litellm_model import litellm
from tests.support.judge_server import JudgeServer


@pytest.mark.parametrize("is_checked", [False, True])
def test_others_get_prices(is_checked: bool) -> None:
    library = litellm()

    async def complete(url: str) -> object:
        sent = [{"role": "user", "content": "Is it so?"}]
        given = {"model": "openai/gpt-4o-mini", "api_base": url, "api_key": "none"}
        try:
            if not is_checked:
                return await library.acompletion(messages=sent, **given)
            with check_answers(1, "judge"):
                return await library.acompletion(messages=sent, **given)
        finally:
            await close_connections()

    with JudgeServer() as server:
        found = asyncio.run(complete(server.url))
    cost = getattr(found, "_hidden_params", {}).get("response_cost")
    assert (cost is None) == is_checked
