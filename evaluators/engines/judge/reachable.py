"""Whether a judge can be called, as far as that is known without a paid call."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

from calls.errors import ModelRefused, map_error
from calls.litellm_model import describe_missing_key
from evaluators.engines.judge.errors import BadJudgeSettings, JudgeRefused, JudgeUnreachable
from evaluators.engines.judge.litellm_client import LitellmClient
from evaluators.engines.judge.settings import SKIPPED

if TYPE_CHECKING:
    from evaluators.engines.judge.settings import JudgeSettings

_TIMEOUT_S: Final = 10.0
"""The seconds in which a server must accept a connection, and answer."""

_PORTS: Final = {"http": 80, "https": 443}

_OPENAI: Final = "openai/"
_WITH_MODELS: Final = (_OPENAI, "hosted_vllm/", "litellm_proxy/")
"""The prefixes of models whose servers list them as OpenAI's does."""
_OPENAI_BASE: Final = "https://api.openai.com/v1"

_MAX_BYTES: Final = 64_000
_REFUSED: Final = 401
_NOT_FOUND: Final = 404


def missing_key(settings: JudgeSettings) -> str | None:
    """Return which key a run would miss, and what to do; None if it is there or none is needed.

    Without `api_key_env`, LiteLLM looks for the key in a variable of the provider. Servers at an
    `api_base` may need none.
    """
    if settings.recording is not None:
        return None
    return describe_missing_key(settings.model, settings.api_key_env, settings.api_base, "judge")


def skip_reason(settings: JudgeSettings) -> str | None:
    """Return why an optional judge is not called; None if it is required or its key is there."""
    if not settings.optional or settings.api_key:
        return None
    key = missing_key(settings)
    return None if key is None else f"{SKIPPED}{key}"


class _Refusal(Exception):  # noqa: N818 - shaped like an exception of a provider
    def __init__(self, status_code: int, body: str) -> None:
        super().__init__(body)
        self.status_code = status_code


def require_reachable(settings: JudgeSettings) -> None:
    """Check the key of a judge, and that its server answers; nothing is sent that may be billed.

    A server with OpenAI's protocol is asked whether it has the model, which is free. Any answer but
    a refusal of the key or the model lets the run go on: many servers do not list their models, and
    keys may be allowed to call them only. Of other providers' servers only those at an `api_base`
    are tried, since LiteLLM alone knows the other addresses. Behind a proxy a connection shows
    nothing.

    Raises:
        BadJudgeSettings: The key is not set.
        JudgeUnreachable: No server listens at the address.
        JudgeRefused: The server refuses the key or does not have the model.
    """
    if settings.recording is not None:
        return
    secret = LitellmClient(settings).secret
    key = None if secret else missing_key(settings)
    if key is not None:
        raise BadJudgeSettings(f"{settings.title}'s key: {key}")
    has_models = settings.model.startswith(_WITH_MODELS)
    base = settings.api_base
    if base is None and settings.model.startswith(_OPENAI):
        base = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE")
        base = base or _OPENAI_BASE
        secret = secret or os.environ.get("OPENAI_API_KEY")
    if base is None:
        return
    _require_connection(settings, base)
    if has_models:
        _require_model(settings, base, secret)


def _require_connection(settings: JudgeSettings, base: str) -> None:
    url = urlsplit(base)
    host, port = url.hostname or "", url.port or _PORTS.get(url.scheme)
    if port is None or ({url.scheme, "all"} & getproxies().keys() and not proxy_bypass(host)):
        return
    try:
        socket.create_connection((host, port), _TIMEOUT_S).close()
    except OSError as error:
        raise JudgeUnreachable(
            f"the judge {settings.where} does not answer: no connection to {host}:{port}: "
            f"{error.strerror or error}"
        ) from error


def _require_model(settings: JudgeSettings, base: str, secret: str | None) -> None:
    import httpx

    name = settings.model.partition("/")[2]
    url = f"{base.rstrip('/')}/models/{quote(name, safe='/')}"
    headers = {"authorization": f"Bearer {secret or 'none'}", "accept-encoding": "identity"}
    try:
        # Redirects are not followed: another server must not get the key.
        with httpx.stream("GET", url, headers=headers, timeout=_TIMEOUT_S) as response:
            status, body = response.status_code, b""
            for piece in response.iter_raw(_MAX_BYTES):
                body += piece
                if len(body) >= _MAX_BYTES:
                    break
    except (httpx.HTTPError, httpx.InvalidURL, ValueError):
        # Whatever is wrong here, the first call says more of it.
        return
    text = body.decode(errors="replace")
    # A key may lack the scope of this request, and yet be allowed to call the model.
    is_key = status == _REFUSED and "scope" not in text and "permission" not in text
    if not is_key and not (status == _NOT_FOUND and "model_not_found" in text):
        return
    refused = map_error(_Refusal(status, text), secret, settings.title)
    if isinstance(refused, ModelRefused):
        raise JudgeRefused(str(refused))
