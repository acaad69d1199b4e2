"""Checks that a judge can be called, as far as that can be known without paying for a call."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from evaluators.engines.judge.errors import BadJudgeSettings, JudgeUnreachable
from evaluators.engines.judge.litellm_call import LitellmClient, missing_key

if TYPE_CHECKING:
    from evaluators.engines.judge.settings import JudgeSettings

CONNECT_S: Final = 10.0
"""The seconds in which a server must accept a connection."""

_PORTS: Final = {"http": 80, "https": 443}


def require_reachable(settings: JudgeSettings) -> None:
    """Check the key of a judge, and that a server listens at its address; nothing is sent.

    Whether the server accepts the key, only a call shows. Addresses of providers are known to
    LiteLLM alone, and behind a proxy the address cannot be checked: both are taken as reachable.

    Raises:
        BadJudgeSettings: The key is not set.
        JudgeUnreachable: No server listens at the address.
    """
    if settings.recording is not None:
        return
    key = None if LitellmClient(settings).secret else missing_key(settings)
    if key is not None:
        raise BadJudgeSettings(f"{settings.title}'s key: {key}")
    if settings.api_base is None:
        return
    url = urlsplit(settings.api_base)
    host, port = url.hostname or "", url.port or _PORTS[url.scheme]
    if url.scheme in getproxies() and not proxy_bypass(host):
        return
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError as error:
        raise JudgeUnreachable(
            f"the judge {settings.where} does not answer: no connection to {host}:{port}: "
            f"{error.strerror or error}"
        ) from error
