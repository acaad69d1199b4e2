"""Errors of calls, and the mapping of LiteLLM's exceptions to them.

CallsError             ends the run with one line
└── ModelRefused       the key or the model is wrong, or the account has no credit

CallFailure            ends one attempt or one call
├── TransientFailure   a retry may help
├── ContextOverflow    the messages exceed the model's window
├── ContentFiltered    the provider's content filter rejects the messages
├── OverBudget         the budgets do not allow it; see `calls.budget`
├── UnsupportedRequest the model does not support an option of the request
├── BadAnswer          the server's answer is too large or makes no sense; it may be billed
└── WrongAddress       `api_base` leads to another origin, or http and https are confused
"""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

from calls.http.body import chain, parse_retry_after
from calls.redaction import find_secrets, replace_secrets

if TYPE_CHECKING:
    from collections.abc import Mapping


class CallsError(Exception):
    """The root of the errors of this package that end a run; the message is meant for the user."""


class ModelRefused(CallsError):  # noqa: N818 - the name says what it is
    """The model's provider rejects all calls: a wrong key or model, or no credit."""


_REFUSALS = {401: "the key", 402: "the account", 403: "the key", 404: "the model or the address"}
_TOO_LARGE = 413
_UNSUPPORTED = frozenset({400, 422})
_BUSY = 429
_EXCEPTION_NAMES = re.compile(r"\A(?:(?:litellm\.)?\w+(?:Error|Exception|Timeout)(?:: | - ))+")
_ADDITIONS = re.compile(
    r"[\s,;:.]*(?:Traceback \(most recent call last\)|Give Feedback / Get Help|LiteLLM\.Info|"
    r"Original Response:).*",
    re.DOTALL,
)
"""What LiteLLM adds to messages: stack traces with local paths, advertisements, whole answers."""
_TLS_CONTEXT = re.compile(r" ssl:(?:<[^>]*>|\w+)")
"""aiohttp's description of a TLS context contains a memory address, which differs each time."""
_OK = 200
_MAX_LENGTH = 300

_NO_CREDIT = ("insufficient_quota", "credit balance is too low", "insufficient balance")
_BAD_KEY = ("api key not valid", "invalid api key", "incorrect api key", "api_key_invalid")
_NO_KEY = re.compile(
    r"missing credentials|missing [\w ]*api key|_api_key is not set|"
    r"credentials were not found|unable to locate credentials"
)
"""What LiteLLM and the libraries of providers say before they send anything."""
_NO_MODEL = re.compile(
    r"llm provider not provided|model_not_found|(?:unknown|invalid) model\b|"
    r"\bmodel\b.{0,80}(?:does not exist|not exist\b|not found|been decommissioned)"
)
_TOO_SLOW = frozenset({"Timeout", "TimeoutError", "APITimeoutError", "ReadTimeout", "WriteTimeout"})
_UNREADABLE = (AttributeError, KeyError, IndexError, TypeError)
_GARBLED = ("empty or invalid response", "expecting value", "'choices'")
_FILTERED = ("content_filter", "content management policy", "content_policy_violation")


class CallFailure(Exception):  # noqa: N818 - caught by the caller
    """A call failed; the message is the reason in one line.

    Attributes:
        billed: Whether the call may be billed.
    """

    billed = False


class TransientFailure(CallFailure):
    """A failure that a retry may overcome.

    Attributes:
        retry_after: The server's `Retry-After` in seconds, if it sent one.
        busy: Whether the server is rate limited or overloaded.
        unreachable: Whether no server answers at the address.
        garbled: Whether the answer does not follow the protocol (an HTML page, say).
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
    """The messages exceed the model's window."""


class ContentFiltered(CallFailure):
    """The provider's content filter rejects the messages."""


class UnsupportedRequest(CallFailure):
    """The model does not support an option of the request."""


class BadAnswer(CallFailure):
    """The server's answer is too large or makes no sense; a retry would be paid for again."""

    billed = True

    def __init__(self, fault: str) -> None:
        super().__init__(f"bad_answer: {fault}")


class WrongAddress(CallFailure):
    """`api_base` leads to another origin, or says https for http or the reverse."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"wrong_address: {fault}")


def map_error(
    error: Exception, secret: str | None, title: str = "the judge"
) -> CallFailure | ModelRefused:
    """Map an exception of LiteLLM or its transport to a failure of the call or of all calls.

    Args:
        error: The exception.
        secret: The key, to redact it: some servers repeat it in their messages.
        title: What messages call the model.
    """
    message = _one_line(str(error), secret)
    status = getattr(error, "status_code", None) or 0
    kinds = {type(each).__name__ for each in chain(error)}
    if kinds & _TOO_SLOW:
        return TransientFailure("timeout", billed=True)
    refusal = _refusal(message, status)
    if refusal is not None:
        return ModelRefused(f"{title} {refusal}: {message}")
    if status == _BUSY:
        return TransientFailure("rate_limit", retry_after=_retry_after(error), busy=True)
    unreachable = next((each for each in chain(error) if _is_unreachable(each)), None)
    if unreachable is not None:
        detail = _TLS_CONTEXT.sub("", _one_line(str(unreachable), secret))
        return TransientFailure(f"transport: no connection: {detail}", unreachable=True)
    return _request_failure(message, status, kinds) or TransientFailure(
        f"transport: {message}",
        retry_after=_retry_after(error),
        garbled=status == _OK or any(sign in message.lower() for sign in _GARBLED),
        billed=bool(kinds & {"ReadError", "RemoteProtocolError"}),
    )


def _refusal(message: str, status: int) -> str | None:
    """Return what is wrong if every call would be refused; None if others may succeed."""
    lower = message.lower()
    if any(sign in lower for sign in _NO_CREDIT):
        return "refuses the account"
    if status == _BUSY:
        return None
    if _NO_KEY.search(lower):
        return "has no key"
    if status in _UNSUPPORTED and _NO_MODEL.search(lower):
        return "refuses the model"
    if status in _UNSUPPORTED and any(sign in lower for sign in _BAD_KEY):
        return "refuses the key"
    return f"refuses {_REFUSALS[status]}" if status in _REFUSALS else None


def map_unreadable(error: Exception, secret: str | None, name: str) -> BadAnswer | None:
    """Return the failure if LiteLLM cannot read an answer that came; None for other exceptions.

    It would fail again, and the answer may be billed.

    Args:
        error: The exception that LiteLLM raised after an answer of status 200 with JSON.
        secret: The key, to redact it.
        name: The model's name in LiteLLM.
    """
    cause = next((each for each in chain(error) if isinstance(each, _UNREADABLE)), None)
    message = _one_line(str(cause), secret)
    if cause is None or any(sign in message.lower() for sign in _GARBLED):
        return None
    advice = "for a server with OpenAI's protocol, write openai/ in front of the model's name"
    return BadAnswer(
        f"LiteLLM cannot read it ({type(cause).__name__}: {message})"
        + ("" if name.startswith("openai/") else f"; {advice}")
    )


def _request_failure(message: str, status: int, kinds: set[str]) -> CallFailure | None:
    """Return the failure if this request is at fault, or None."""
    if "ContextWindowExceededError" in kinds or status == _TOO_LARGE:
        return ContextOverflow(f"context_overflow: {message}")
    filtered = any(sign in message.lower() for sign in _FILTERED)
    if "ContentPolicyViolationError" in kinds or (status in _UNSUPPORTED and filtered):
        return ContentFiltered(f"content_filter: {message}")
    return UnsupportedRequest(f"bad_request: {message}") if status in _UNSUPPORTED else None


def redact(text: str, secret: str | None) -> str:
    """Replace the key in a text, in every form; see `find_secrets`, `replace_secrets`."""
    return replace_secrets(text, find_secrets(secret))


def _one_line(text: str, secret: str | None) -> str:
    """Return a text in one short line, without the key and what LiteLLM adds."""
    # Redact before truncating: otherwise a part of the key could remain.
    line = " ".join(_ADDITIONS.sub("", redact(text, secret)).split())
    return _EXCEPTION_NAMES.sub("", line)[:_MAX_LENGTH]


def _is_unreachable(error: BaseException) -> bool:
    return isinstance(error, ConnectionRefusedError | socket.gaierror) or type(error).__name__ in {
        "ConnectError",
        "ConnectTimeout",
    }


def _retry_after(error: Exception) -> float | None:
    headers: Mapping[str, str] = getattr(error, "litellm_response_headers", None) or {}
    return parse_retry_after(
        next((value for name, value in headers.items() if name.lower() == "retry-after"), None)
    )
