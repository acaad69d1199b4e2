"""Keys: a server at an `api_base` gets only the key that is configured, and none is repeated."""

from __future__ import annotations

import asyncio

import pytest

from calls.errors import CallFailure, ModelRefused
from calls.http.litellm_transport import close_connections
from calls.litellm_model import CalledModel
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply

KEY = "sk-very-secret-0123456789"
CLAUDE = "bedrock/anthropic.claude-3-haiku-20240307-v1:0"
VARIABLES = {
    "openai/judge": "OPENAI_API_KEY",
    "custom_openai/judge": "OPENAI_API_KEY",
    "text-completion-openai/judge": "OPENAI_API_KEY",
    "hosted_vllm/judge": "HOSTED_VLLM_API_KEY",
    "groq/judge": "GROQ_API_KEY",
    "anthropic/judge": "ANTHROPIC_API_KEY",
    "ollama_chat/judge": "OLLAMA_API_KEY",
    "azure/judge": "AZURE_API_KEY",
    CLAUDE: "AWS_BEARER_TOKEN_BEDROCK",
}


def call(server: JudgeServer, name: str, *, text: bool = False, secret: str | None = None) -> str:
    """Call a model once; return what came of it."""
    model = CalledModel(
        name=name,
        api_base=server.url,
        secret=secret,
        timeout_s=20,
        max_reply_mb=1,
        section="judge",
        title="the model",
    )
    sent = [{"role": "user", "content": "Is it so?"}]

    async def complete() -> str:
        try:
            if text:
                return repr(await model.complete_text("Is it so?", {}))
            return repr(await model.complete(sent, {}))
        finally:
            await close_connections()

    try:
        return asyncio.run(complete())
    except (CallFailure, ModelRefused) as failure:
        return str(failure)


@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", VARIABLES)
def test_a_key_that_is_not_configured_is_not_sent_to_an_api_base(
    name: str, text: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLES[name], KEY)
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")
    with JudgeServer(lambda _: Reply(status=400, content="no")) as server:
        call(server, name, text=text)
        sent = str(dict(server.headers))
    assert "none" in sent
    assert KEY not in sent


def test_a_configured_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789")
    with JudgeServer() as server:
        call(server, "openai/judge", secret=KEY)
        assert server.headers["authorization"] == f"Bearer {KEY}"


def test_requests_that_are_signed_get_no_placeholder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("AWS_REGION_NAME", "us-east-1")
    with JudgeServer(lambda _: Reply(status=400, content="no")) as server:
        call(server, CLAUDE)
        assert server.headers["authorization"].startswith("AWS4-HMAC-SHA256")


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("secret", [None, "sk-configured-0123456789"])
def test_a_key_of_the_environment_is_redacted(
    status: int, secret: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LiteLLM may send a key that was not configured, and servers repeat it."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = Reply(status=status, content=f"a request with {KEY} and {secret}")
    with JudgeServer(lambda _: said) as server:
        found = call(server, "openai/judge", secret=secret)
    assert "a request with *** and " in found
    assert KEY not in found
    assert secret is None or secret not in found
