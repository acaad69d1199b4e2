"""Checks of the judge before a run: can it be called, and are its replies usable?"""

from __future__ import annotations

import asyncio
import socket
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from calls.call import CallStatus, Origin
from calls.http_answers import close_connections
from calls.litellm_model import litellm
from evaluators.engines.judge.errors import BadJudgeSettings, JudgeUnreachable
from evaluators.engines.judge.keys import missing_key
from evaluators.engines.judge.litellm_client import LitellmClient
from evaluators.engines.judge.llm_asker import LlmAsker
from evaluators.engines.judge.parse import InvalidReply, parse_reply
from evaluators.engines.judge.settings import JudgeCallBuilder

if TYPE_CHECKING:
    from calls.call import Ledger, Outcome
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Ask

_ORIGIN = Origin("check", "check", "check", "check", 0)
_MAX_ATTEMPTS = 2
_SHOWN = 120
_CONNECT_S: Final = 10.0
"""The seconds in which a server must accept a connection."""

_PORTS: Final = {"http": 80, "https": 443}
_FORM_TEXT = {
    "schema": "constrained to JSON schemas",
    "object": "constrained to JSON",
    "text": "not constrained to a format",
}


@dataclass(frozen=True, slots=True)
class JudgeCheck:
    """What came of a request like those of a run.

    Attributes:
        is_usable: Whether the judge's reply, or its repaired reply, can be scored.
        fault: What is wrong with its first reply, and that reply; None if nothing is.
        message: One line about how the judge answers.
    """

    is_usable: bool
    fault: str | None
    message: str


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
    if {url.scheme, "all"} & getproxies().keys() and not proxy_bypass(host):
        return
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except OSError as error:
        raise JudgeUnreachable(
            f"the judge {settings.where} does not answer: no connection to {host}:{port}: "
            f"{error.strerror or error}"
        ) from error


def check_judge(settings: JudgeSettings, request: Ask[Any], ledger: Ledger) -> JudgeCheck:
    """Send the judge one request of an evaluator, parse its reply, and store it.

    Args:
        settings: The settings of the judge.
        request: A small request of an evaluator.
        ledger: Stores the outcome, like that of every paid call.

    Raises:
        JudgeFailure: The judge cannot be called; the message says why in one line.
    """
    litellm()  # the time must not include this import

    async def check() -> JudgeCheck:
        try:
            return await _check(
                settings.model_copy(update={"max_attempts": _MAX_ATTEMPTS}), request, ledger
            )
        finally:
            await close_connections()

    return asyncio.run(check())


async def _check(settings: JudgeSettings, request: Ask[Any], ledger: Ledger) -> JudgeCheck:
    asker = LlmAsker(settings, ledger)
    await asker.open()
    call = JudgeCallBuilder(settings).of(request, _ORIGIN)
    stored = ledger.find(call.digest)
    faults: list[str] = []

    def parse(text: str) -> Reply | InvalidReply:
        result = parse_reply(text, request)
        if isinstance(result, InvalidReply):
            faults.append(f"{result.reason}; it replied {_shorten(text)}")
        return result

    started = time.monotonic()
    judgment = await asker.ask(call, _ORIGIN, parse)
    took = time.monotonic() - started
    await ledger.store(judgment, -1 if stored is None else stored.number)
    if judgment.status == CallStatus.JUDGE_ERROR:
        raise JudgeUnreachable(f"the judge {settings.where} gives no verdict: {judgment.error}")
    options = asker.capabilities.options_for(call.reply_schema)
    sampling = "" if options.sampling else ", at its own temperature"
    served = f" as {asker.served_by!r}" if asker.served_by else ""
    form = _FORM_TEXT[options.form]
    return JudgeCheck(
        is_usable=judgment.status == CallStatus.SCORED,
        fault=faults[0] if faults else _describe_failure(judgment),
        message=f"{settings.where} answers in {took:.1f} s{served}{sampling}, {form}",
    )


def _describe_failure(judgment: Outcome) -> str | None:
    """Return why a reply could not even be parsed: a refusal, an empty or truncated reply."""
    if judgment.status == CallStatus.SCORED:
        return None
    return f"{judgment.error}; it replied {_shorten(judgment.reply or '')}"


def _shorten(text: str) -> str:
    """Return the beginning of a text in quotes, with control characters escaped."""
    return repr(text[:_SHOWN]) + (" ..." if len(text) > _SHOWN else "")
