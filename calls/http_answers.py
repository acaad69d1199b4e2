"""HTTP answers to judge calls: how large they may be, and where they may redirect to.

LiteLLM calls providers through httpx clients that it makes itself, on a transport of aiohttp or,
where that is disabled, of httpx. It has no limit for an answer, and follows redirects with the
request. So the transports themselves check every answer to a call within `check_answers`.
"""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from calls.errors import BadAnswer, TransientFailure, WrongAddress
from calls.http_body import (
    MEGABYTE,
    UnusableBody,
    is_plain_http,
    origin_of,
    read_body,
    untrusted_certificate,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    import httpx

_ABOUT_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})

_HTTPS_EXPECTED = (b"https port", b"https server", b"requires tls")
"""What nginx, Go and Tomcat reply to plain http at a port for https, in lower case."""

_TOKEN_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
_MOST_TOKENS = 100_000_000
"""Ten times the largest context window of today."""


@dataclass(slots=True)
class AnswerCheck:
    """What the transport found in the answer to one call.

    Attributes:
        max_bytes: The largest size of an answer, decompressed.
        section: The configuration section of the model, for messages.
        streamed: Whether events are handed over as they arrive.
        events: The events that were handed over; None if the answer was none.
        sent_at: When the last request was sent, by the monotonic clock; None if none was.
        is_json: Whether the last answer has the status of a success and is JSON.
        failure: Why the last request failed, if no answer came from it that can be used. LiteLLM
            raises another exception in its place.
    """

    max_bytes: int
    section: str
    streamed: bool = False
    events: bytearray | None = None
    sent_at: float | None = None
    is_json: bool = False
    failure: Exception | None = None

    @property
    def use_https(self) -> str:
        """What to do where a server expects https."""
        return f"set {self.section}.api_base to https://..."


_TRANSPORTS: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakSet[Any]] = WeakKeyDictionary()
"""The transports that sent a checked request, by event loop."""

_CHECK: ContextVar[AnswerCheck | None] = ContextVar("answer_check", default=None)


@contextmanager
def check_answers(max_mb: float, section: str, *, streamed: bool = False) -> Iterator[AnswerCheck]:
    """Check the answers to all requests that this task sends within the `with`."""
    check = AnswerCheck(int(max_mb * MEGABYTE), section, streamed)
    token = _CHECK.set(check)
    try:
        yield check
    finally:
        _CHECK.reset(token)


def install_checks() -> None:
    """Let the transports that LiteLLM uses check answers; other users of httpx are not affected."""
    import httpx
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    for transport in (LiteLLMAiohttpTransport, httpx.AsyncHTTPTransport):
        checked: Any = _checked(transport.handle_async_request)
        transport.handle_async_request = checked  # type: ignore[method-assign]


async def close_connections() -> None:
    """Close the connections of checked requests of this event loop, which is about to end.

    LiteLLM keeps a client for each event loop, also after its end, when it can no longer be closed.
    """
    for transport in list(_TRANSPORTS.pop(asyncio.get_running_loop(), ())):
        await transport.aclose()


def is_token_count(count: object) -> bool:
    """Return whether a provider's number of tokens is one."""
    if isinstance(count, bool) or not isinstance(count, int | float):
        return False
    return 0 <= count <= _MOST_TOKENS and count == int(count)


def check_token_count(name: str, count: object) -> None:
    """Raise `BadAnswer` if a provider's number of tokens is none; None is unknown."""
    if count is not None and not is_token_count(count):
        found = count if isinstance(count, int | float) else type(count).__name__
        raise BadAnswer(f"usage.{name} is {found}, which is not a number of tokens")


def _checked(
    send: Callable[[Any, httpx.Request], Awaitable[httpx.Response]],
) -> Callable[[Any, httpx.Request], Awaitable[httpx.Response]]:
    @wraps(send)
    async def handle_async_request(transport: Any, request: httpx.Request) -> httpx.Response:
        check = _CHECK.get()
        if check is None:
            return await send(transport, request)
        check.failure, check.is_json, check.sent_at = None, False, time.monotonic()
        _TRANSPORTS.setdefault(asyncio.get_running_loop(), WeakSet()).add(transport)
        try:
            return await _send_and_check(lambda: send(transport, request), request, check)
        except Exception as error:
            check.failure = _explain(error, request.url, check)
            raise

    return handle_async_request


async def _send_and_check(
    send: Callable[[], Awaitable[httpx.Response]], request: httpx.Request, check: AnswerCheck
) -> httpx.Response:
    import httpx

    # Other formats could not be decompressed piece by piece.
    request.headers["accept-encoding"] = "identity" if check.streamed else "gzip"
    response = await send()
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if check.streamed and response.is_success and kind == "text/event-stream":
        check.events = events = bytearray()
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_checked_stream(response, request.url, check, events),
            request=request,
        )
    try:
        if response.has_redirect_location:
            _check_redirect(request.url, response.headers["location"], check)
        body = await read_body(response, check.max_bytes, f"{check.section}.max_reply_mb")
    except UnusableBody as error:
        raise BadAnswer(str(error)) from None
    finally:
        await response.aclose()
    if response.is_success:
        check.is_json = _check_body(body)
    elif request.url.scheme == "http" and any(sign in body.lower() for sign in _HTTPS_EXPECTED):
        raise WrongAddress(f"the server expects https: {check.use_https}")
    headers = [item for item in response.headers.multi_items() if item[0] not in _ABOUT_BODY]
    return httpx.Response(
        response.status_code, headers=headers, stream=httpx.ByteStream(body), request=request
    )


def _checked_stream(
    response: httpx.Response, url: httpx.URL, check: AnswerCheck, events: bytearray
) -> httpx.AsyncByteStream:
    """Return a body that is checked while it is read."""
    import httpx

    class CheckedStream(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for chunk in _limited(response, check, events):
                    yield chunk
            except Exception as error:
                check.failure = _explain(error, url, check)
                raise

        async def aclose(self) -> None:
            await response.aclose()

    return CheckedStream()


async def _limited(
    response: httpx.Response, check: AnswerCheck, events: bytearray
) -> AsyncIterator[bytes]:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise BadAnswer("a compressed stream, which was not asked for")
    async for chunk in response.aiter_raw():
        events += chunk
        if len(events) > check.max_bytes:
            limit = f"the limit of {check.section}.max_reply_mb"
            raise BadAnswer(f"larger than {check.max_bytes / MEGABYTE:g} MB, {limit}")
        yield chunk


def _check_redirect(url: httpx.URL, location: str, check: AnswerCheck) -> None:
    """Raise if a redirect leaves the origin: another server must not get the request."""
    import httpx

    try:
        target = url.join(location)
    except httpx.InvalidURL:
        raise WrongAddress("the server redirects to an invalid URL") from None
    if origin_of(target) != origin_of(url):
        raise WrongAddress(
            f"the server redirects to another origin, {origin_of(target)}, which gets nothing; if "
            f"that is the right address, set {check.section}.api_base to it"
        )


def _check_body(body: bytes) -> bool:
    """Check what LiteLLM would convert silently, or raise a stack trace about.

    Returns:
        Whether the body is JSON; LiteLLM knows what else its providers send.
    """
    try:
        answer = json.loads(body)
    except json.JSONDecodeError:
        return False  # a page of a proxy, or events
    except RecursionError:
        raise BadAnswer("nested too deeply") from None
    except UnicodeDecodeError:
        raise BadAnswer("not UTF-8") from None
    except ValueError:  # of Python's limit for the digits of a whole number
        raise BadAnswer("a number with too many digits") from None
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if usage is None:
        return True
    if not isinstance(usage, dict):
        raise BadAnswer(f"usage is not an object but {type(usage).__name__}")
    for name in _TOKEN_COUNTS:
        check_token_count(name, usage.get(name))
    return True


def _explain(error: Exception, url: httpx.URL, check: AnswerCheck) -> Exception:
    """Return the failure of the call that an exception means here, or else the exception."""
    if isinstance(error, zlib.error):
        return TransientFailure("transport: the answer is damaged", garbled=True, billed=True)
    untrusted = untrusted_certificate(error)
    if untrusted is not None:
        return WrongAddress(
            f"the certificate of {origin_of(url)} is not valid: {untrusted}; if an authority of "
            "your own issued it, set SSL_CERT_FILE"
        )
    if is_plain_http(error):
        return WrongAddress(
            f"the server answers https with plain http: set {check.section}.api_base to "
            "http://..., or enable TLS at the server"
        )
    if url.scheme == "http" and type(error.__cause__).__name__ == "ServerDisconnectedError":
        return TransientFailure(
            "transport: the server closed the connection without an answer; if it expects https, "
            f"{check.use_https}",
            garbled=True,
            billed=True,
        )
    return error
