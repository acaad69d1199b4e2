"""Why a judge cannot be asked at all; each stops the run at once, with one line.

JudgeFailure
├── JudgeRefused       the key or the model is wrong, or the account has no credit
├── JudgeUnreachable   nobody answers at the address
├── BadJudgeSettings   settings that contradict each other or lack something
└── BadRecording       recorded replies that cannot be read

What goes wrong with a single question is no error of this kind: see `outcome.JudgeError`.
"""

from __future__ import annotations

import re
import socket
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from evaluators.errors import EvaluatorError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class JudgeFailure(EvaluatorError):  # noqa: N818 - the name says what it is
    """Nothing can be asked; what was answered before is kept."""


class JudgeRefused(JudgeFailure):
    """The judge was reached and will not answer: a wrong key or model, or no credit."""


class JudgeUnreachable(JudgeFailure):
    """Nobody answers at the judge's address."""


class BadJudgeSettings(JudgeFailure):
    """Settings that contradict each other, or lack what others need."""


class BadRecording(JudgeFailure):
    """A file of recorded replies that cannot be read; the message names file and line."""


_REFUSALS = {401: "the key", 402: "the account", 403: "the key", 404: "the model or the address"}
_TOO_LARGE = 413
_UNFIT = frozenset({400, 422})
_BUSY = 429
_WRAPPERS = re.compile(r"\A(?:litellm\.)?(?:\w+(?:Error|Exception|Timeout)(?:: | - ))+")
_OBJECT = re.compile(r" ssl:(?:<[^>]*>|\w+)")
"""How aiohttp tells of a connection's TLS: with an address in memory, another one each time."""
_FINE = 200
_LONGEST = 300

_NO_CREDIT = ("insufficient_quota", "credit balance is too low", "insufficient balance")
_BAD_KEY = ("api key not valid", "invalid api key", "incorrect api key", "api_key_invalid")
_TOO_SLOW = frozenset({"Timeout", "TimeoutError", "APITimeoutError"})
_GARBLED = ("empty or invalid response", "expecting value", "'choices'")
_SHORTEST_SECRET = 8
"""Shorter keys ("none", "EMPTY") are stand-ins for servers without any, and words of replies."""
_FILTERED = ("content_filter", "content management policy", "content_policy_violation")


class CallFailure(Exception):  # noqa: N818 - a finding about one call, caught by the asker
    """One call came to nothing; the message is the reason in one line."""


class TransientFailure(CallFailure):
    """What may be over when the question is sent again.

    Attributes:
        retry_after: Seconds that the server asks to wait; None when it does not say.
        busy: Whether too much was asked of the server.
        unreachable: Whether nobody answers at the address.
        garbled: Whether what came is no answer of the protocol (a page in HTML, say).
        billed: Whether the call may have been paid for.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after: float | None = None,
        busy: bool = False,
        unreachable: bool = False,
        garbled: bool = False,
        billed: bool = False,
    ) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.busy = busy
        self.unreachable = unreachable
        self.garbled = garbled
        self.billed = billed


class ContextOverflow(CallFailure):
    """The messages do not fit into the model's window."""


class ContentFiltered(CallFailure):
    """The provider will not have its model see the messages."""


class UnsupportedRequest(CallFailure):
    """The request has something that the model does not take."""


def map_error(error: Exception, secret: str | None) -> CallFailure | JudgeRefused:
    """What an exception of LiteLLM means.

    Args:
        error: The exception.
        secret: The key, which some servers repeat and nobody may see.
    """
    told = _line(str(error), secret)
    lower = told.lower()
    status = getattr(error, "status_code", None) or 0
    kinds = {type(each).__name__ for each in _chain(error)}
    if kinds & _TOO_SLOW:
        return TransientFailure("timeout", billed=True)
    if any(sign in lower for sign in _NO_CREDIT):
        return JudgeRefused(f"the judge refuses the account: {told}")
    if status == _BUSY:
        return TransientFailure("rate_limit", retry_after=_retry_after(error), busy=True)
    if status in _REFUSALS or (status in _UNFIT and any(sign in lower for sign in _BAD_KEY)):
        return JudgeRefused(f"the judge refuses {_REFUSALS.get(status, 'the key')}: {told}")
    nobody = next((each for each in _chain(error) if _is_unreachable(each)), None)
    if nobody is not None:
        said = _OBJECT.sub("", _line(str(nobody), secret))
        return TransientFailure(f"transport: no connection: {said}", unreachable=True)
    return _request_failure(told, status, kinds) or TransientFailure(
        f"transport: {told}",
        retry_after=_retry_after(error),
        garbled=status == _FINE or any(sign in lower for sign in _GARBLED),
        billed=bool(kinds & {"ReadError", "RemoteProtocolError"}),
    )


def _request_failure(told: str, status: int, kinds: set[str]) -> CallFailure | None:
    """What is wrong with this one request, if that is what it is."""
    if "ContextWindowExceededError" in kinds or status == _TOO_LARGE:
        return ContextOverflow(f"context_overflow: {told}")
    filtered = any(sign in told.lower() for sign in _FILTERED)
    if "ContentPolicyViolationError" in kinds or (status in _UNFIT and filtered):
        return ContentFiltered(f"content_filter: {told}")
    return UnsupportedRequest(f"bad_request: {told}") if status in _UNFIT else None


def redact(text: str, secret: str | None) -> str:
    """The text without the key; what stands in for a key where none is needed is no secret."""
    if secret is None or len(secret) < _SHORTEST_SECRET:
        return text
    return text.replace(secret, "***")


def _line(text: str, secret: str | None) -> str:
    """A text in one line, without the key and the exceptions that LiteLLM wrapped it in."""
    # Concealed before it is cut: of a key that is cut through, a part would be left.
    return _WRAPPERS.sub("", " ".join(redact(text, secret).split()))[:_LONGEST]


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and all that led to it."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [each.__cause__, each.__context__]


def _is_unreachable(error: BaseException) -> bool:
    return isinstance(error, ConnectionRefusedError | socket.gaierror) or type(error).__name__ in {
        "ConnectError",
        "ConnectTimeout",
    }


def _retry_after(error: Exception) -> float | None:
    """The seconds of `Retry-After`, which is a number or a date."""
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
    given = next((value for name, value in headers.items() if name.lower() == "retry-after"), None)
    if given is None:
        return None
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(given)
    except ValueError:
        return None
    # `-0000` says that nobody knows the sender's zone, and that the time is that of Greenwich.
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
