"""Exceptions of a Python function: which are passing, and what to say of them in one line."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from calls.redaction import redact

_SHOWN = 200
_TRANSPORT = frozenset(
    {
        *("TransportError", "TimeoutError", "TimeoutException"),  # httpx, urllib3
        *("APIConnectionError", "RateLimitError", "InternalServerError"),  # openai and its kin
        *("ServiceUnavailableError", "OverloadedError", "Timeout"),
        *("ClientConnectionError", "ServerDisconnectedError"),  # aiohttp
        *("MaxRetryError", "ProtocolError"),  # urllib3
        *("ConnectionClosedError", "EndpointConnectionError", "HTTPClientError"),  # botocore
        *("ServiceUnavailable", "TooManyRequests", "ResourceExhausted", "DeadlineExceeded"),
    }
)
"""Classes that are not of the families of OSError and TimeoutError, by name: those libraries are
the user's, so they cannot be imported here."""
_BUSY = frozenset({"RateLimitError", "TooManyRequests", "ResourceExhausted", "OverloadedError"})
_BUSY_STATUSES = frozenset({429, 503, 529})
_PASSING_STATUSES = frozenset({408, 425, 429, *range(500, 600)})


def is_transport(error: BaseException) -> bool:
    """Return whether the same call may succeed later."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_transport(each) for each in error.exceptions)
    if isinstance(error, OSError | TimeoutError):
        return True
    if any(cls.__name__ in _TRANSPORT for cls in type(error).__mro__):
        return True
    return _status(error) in _PASSING_STATUSES


def limits(error: BaseException) -> dict[str, Any]:
    """Return what the error says of rate limits."""
    busy = any(cls.__name__ in _BUSY for cls in type(error).__mro__)
    return {
        "busy": busy or _status(error) in _BUSY_STATUSES,
        "retry_after": _retry_after(error),
    }


def _status(error: BaseException) -> int | None:
    for holder in (error, _attribute(error, "response")):
        for name in ("status_code", "status"):
            status = _attribute(holder, name)
            if isinstance(status, int):
                return status
    return None


def _retry_after(error: BaseException) -> float | None:
    headers = _attribute(_attribute(error, "response"), "headers")
    given = _attribute(error, "retry_after")
    if given is None and isinstance(headers, Mapping):
        given = headers.get("retry-after", headers.get("Retry-After"))
    try:
        seconds = float(given)
    except (TypeError, ValueError):
        return None  # absent, or a date
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _attribute(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # noqa: BLE001 - a property of a foreign class; httpx raises in `response`
        return None


def describe(error: BaseException) -> str:
    """Return type and message of an exception in one line, without secrets."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - the class is the user's
        message = "(no message)"
    line = " ".join(redact(message).split())  # before it is cut: a part of a key could remain
    shown = line if len(line) <= _SHOWN else line[:_SHOWN] + "..."
    return f"{type(error).__name__}: {shown}" if shown else type(error).__name__


def where(error: BaseException, roots: tuple[str, ...]) -> str:
    """Return file and line: the innermost of the user's code, or else of any.

    Args:
        error: The exception.
        roots: The folders of the user's code; files in them are shown relative to them.
    """
    if isinstance(error, SyntaxError) and error.filename:
        places = [(error.filename, error.lineno or 1)]
    else:
        places = [*_places(error), *([] if error.__cause__ is None else _places(error.__cause__))]
    for file, line in places:
        if f"{os.sep}site-packages{os.sep}" in file:
            continue
        for root in roots:
            if file.startswith(root + os.sep):
                return f"{os.path.relpath(file, root)}:{line}"
    file, line = (places or [(__file__, 1)])[0]
    return f"{file}:{line}"


def _places(error: BaseException) -> list[tuple[str, int]]:
    """Return files and lines of the traceback, the innermost first."""
    places = []
    trace = error.__traceback__
    while trace is not None:
        places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return [(file, line) for file, line in reversed(places) if not file.startswith("<")]
