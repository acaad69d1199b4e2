"""The transport of LiteLLM's clients: answers to checked calls are limited and make sense.

LiteLLM makes its clients itself, and no argument passes one to all providers. It has no limit for
an answer, and follows redirects with the request. So the one factory of its transports is replaced.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import time
import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from calls.completion import check_token_count
from calls.errors import BadAnswer, TransientFailure, WrongAddress
from calls.http.body import MEGABYTE, UnusableBody, describe_excess, origin_of, tls_fault
from calls.http.exchange import ExchangeLimits, RedirectRefused, exchange

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    import httpx

_HTTPS_EXPECTED = (b"https port", b"https server", b"requires tls")
"""What nginx, Go and Tomcat reply to plain http at a port for https, in lower case."""

_TOKEN_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")


@dataclass(slots=True)
class AnswerCheck:
    """What the transport found in the answer to one call.

    Attributes:
        limits: The limits of the answer.
        streamed: Whether events are handed over as they arrive.
        events: The events that were handed over; None if the answer was none.
        sent_at: When the last request was sent, by the monotonic clock; None if none was.
        is_json: Whether the last answer has the status of a success and is JSON.
        failure: Why the last request failed, if no answer came from it that can be used. LiteLLM
            raises another exception in its place.
    """

    limits: ExchangeLimits
    streamed: bool = False
    events: bytearray | None = None
    sent_at: float | None = None
    is_json: bool = False
    failure: Exception | None = None

    @property
    def use_https(self) -> str:
        """What to do where a server expects https."""
        return f"set {self.limits.address_key} to https://..."


_SENDERS: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncBaseTransport] = (
    WeakKeyDictionary()
)
"""What sends the requests of each event loop, whichever client they come from."""

_CHECK: ContextVar[AnswerCheck | None] = ContextVar("answer_check", default=None)


@contextmanager
def check_answers(max_mb: float, section: str, *, streamed: bool = False) -> Iterator[AnswerCheck]:
    """Check the answers to all requests that this task sends within the `with`."""
    limits = ExchangeLimits(
        max_bytes=int(max_mb * MEGABYTE),
        size_key=f"{section}.max_reply_mb",
        address_key=f"{section}.api_base",
    )
    check = AnswerCheck(limits, streamed)
    token = _CHECK.set(check)
    try:
        yield check
    finally:
        _CHECK.reset(token)


def install_transport() -> None:
    """Let LiteLLM make its transports with checks; other users of httpx are not affected."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    make = AsyncHTTPHandler.create_async_transport

    def create_async_transport(
        ssl_context: Any = None, ssl_verify: Any = None, shared_session: Any = None
    ) -> httpx.AsyncBaseTransport:
        def make_sender() -> httpx.AsyncBaseTransport:
            made = make(ssl_context, ssl_verify, shared_session)
            verify = ssl_context or (ssl_verify is not False)
            return _without_aiohttp(verify) if made is None else made

        return _checked_transport(make_sender)

    replacement: Any = staticmethod(create_async_transport)
    AsyncHTTPHandler.create_async_transport = replacement  # type: ignore[method-assign]


def skip_prices() -> None:
    """Let LiteLLM compute no price of checked answers, which takes a quarter of a call's time.

    Prices follow from the usage; see `calls.prices`. Other users of LiteLLM are not affected.
    """
    import litellm

    utils: Any = litellm.utils
    update = getattr(utils, "update_response_metadata", None)
    if update is None:  # private to LiteLLM; only the speed depends on it
        return

    def update_unless_checked(*args: Any, **kwargs: Any) -> None:
        if _CHECK.get() is None:
            update(*args, **kwargs)

    utils.update_response_metadata = update_unless_checked


async def close_connections() -> None:
    """Close the connections of checked requests of this event loop, which is about to end.

    LiteLLM keeps a client for each event loop, also after its end, when it can no longer be closed.
    """
    sender = _SENDERS.pop(asyncio.get_running_loop(), None)
    if sender is not None:
        await sender.aclose()


def _without_aiohttp(verify: Any) -> httpx.AsyncBaseTransport:
    """Return a transport of httpx; unlike one, a client heeds the proxies of the environment.

    As LiteLLM's own client, it shows the client certificate and may speak HTTP/2.
    """
    import httpx
    import litellm
    from litellm.llms.custom_httpx import http_handler

    if not isinstance(verify, ssl.SSLContext):
        verify = httpx.create_ssl_context(verify=verify)
    certificate = os.getenv("SSL_CERTIFICATE", litellm.ssl_certificate)
    if certificate:
        verify.load_cert_chain(certificate)
    # Older versions of LiteLLM have no HTTP/2.
    http2 = getattr(http_handler, "http2_enabled", bool)()
    unlimited = httpx.Limits(max_connections=None)
    client = httpx.AsyncClient(verify=verify, http2=http2, timeout=None, limits=unlimited)  # noqa: S113

    class ClientTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return await client.send(request, stream=True)  # with the time limits of the request

        async def aclose(self) -> None:
            await client.aclose()

    return ClientTransport()


def _checked_transport(
    make_sender: Callable[[], httpx.AsyncBaseTransport],
) -> httpx.AsyncBaseTransport:
    """Return a transport that checks the answers to calls within `check_answers`.

    LiteLLM makes a client for each text completion, and uses some clients on several event loops.
    So all clients share what sends on a loop, and none closes it.
    """
    import httpx

    class CheckedTransport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            loop = asyncio.get_running_loop()
            sender = _SENDERS.get(loop)
            if sender is None:
                sender = _SENDERS[loop] = make_sender()
            check = _CHECK.get()
            if check is None:
                return await sender.handle_async_request(request)
            check.failure, check.is_json, check.sent_at = None, False, time.monotonic()
            try:
                return await _send_and_check(sender.handle_async_request, request, check)
            except Exception as error:
                check.failure = _explain(error, request.url, check)
                raise

    return CheckedTransport()


async def _send_and_check(
    send: Callable[[httpx.Request], Awaitable[httpx.Response]],
    request: httpx.Request,
    check: AnswerCheck,
) -> httpx.Response:
    import httpx

    # Other formats could not be decompressed piece by piece.
    request.headers["accept-encoding"] = "identity" if check.streamed else "gzip"

    def is_stream(response: httpx.Response) -> bool:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        return check.streamed and response.is_success and kind == "text/event-stream"

    response, body = await exchange(send, request, check.limits, is_handed_over=is_stream)
    if body is None:
        check.events = events = bytearray()
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_checked_stream(response, request.url, check, events),
            request=request,
        )
    if response.is_success:
        check.is_json = _check_body(body)
    elif request.url.scheme == "http" and any(sign in body.lower() for sign in _HTTPS_EXPECTED):
        raise WrongAddress(f"the server expects https: {check.use_https}")
    return response


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
        if len(events) > check.limits.max_bytes:
            raise BadAnswer(describe_excess(check.limits.max_bytes, check.limits.size_key))
        yield chunk


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
    if isinstance(error, UnusableBody):
        return BadAnswer(str(error))
    if isinstance(error, RedirectRefused):
        return WrongAddress(str(error))
    fault = tls_fault(error, origin_of(url), check.limits.address_key)
    if fault is not None:
        return WrongAddress(fault)
    if url.scheme == "http" and type(error.__cause__).__name__ == "ServerDisconnectedError":
        return TransientFailure(
            "transport: the server closed the connection without an answer; if it expects https, "
            f"{check.use_https}",
            garbled=True,
            billed=True,
        )
    return error
