"""HTTP answers to judge calls: how large they may be, and where they may redirect to.

LiteLLM calls providers through httpx clients that it makes itself, on a transport of aiohttp or,
where that is disabled, of httpx. It has no limit for an answer, and follows redirects with the
request. So the transports themselves check every answer to a call within `check_answers`.
"""

from __future__ import annotations

import json
import ssl
import zlib
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.errors import (
    BadAnswer,
    TransientFailure,
    WrongAddress,
    chain,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    import httpx

_MEGABYTE = 1_000_000
_MOST_ERROR_BYTES = 64_000
"""Longer answers to failed requests are cut: only their status and beginning are used."""
_GZIP_OR_ZLIB = 47
"""The window bits by which zlib recognises both formats."""
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_ABOUT_BODY = frozenset({"content-encoding", "content-length", "transfer-encoding"})

_PLAIN_HTTP = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
"""What OpenSSL calls an answer that is not TLS."""
_HTTPS_EXPECTED = (b"https port", b"https server", b"requires tls")
"""What nginx, Go and Tomcat reply to plain http at a port for https, in lower case."""
_USE_HTTPS = "set judge.api_base to https://..."

_TOKEN_COUNTS = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
_MOST_TOKENS = 100_000_000
"""Ten times the largest context window of today."""


@dataclass(slots=True)
class AnswerCheck:
    """What the transport found in the answer to one call.

    Attributes:
        max_bytes: The largest size of an answer, decompressed.
        failure: Why the last request failed, if no answer came from it that can be used. LiteLLM
            raises another exception in its place.
    """

    max_bytes: int
    failure: Exception | None = None


_CHECK: ContextVar[AnswerCheck | None] = ContextVar("answer_check", default=None)


@contextmanager
def check_answers(max_mb: float) -> Iterator[AnswerCheck]:
    """Check the answers to all requests that this task sends within the `with`."""
    check = AnswerCheck(int(max_mb * _MEGABYTE))
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


def is_token_count(count: object) -> bool:
    """Return whether a provider's number of tokens is one."""
    if isinstance(count, bool) or not isinstance(count, int | float):
        return False
    return 0 <= count <= _MOST_TOKENS and count == int(count)


def check_token_count(name: str, count: object) -> None:
    """Raise `BadAnswer` if a provider's number of tokens is none; None is unknown."""
    if count is not None and not is_token_count(count):
        found = count if isinstance(count, int | float) else type(count).__name__
        raise BadAnswer(f"usage.{name} is {found}, which is no number of tokens")


def _checked(
    send: Callable[[Any, httpx.Request], Awaitable[httpx.Response]],
) -> Callable[[Any, httpx.Request], Awaitable[httpx.Response]]:
    @wraps(send)
    async def handle_async_request(transport: Any, request: httpx.Request) -> httpx.Response:
        check = _CHECK.get()
        if check is None:
            return await send(transport, request)
        check.failure = None
        try:
            return await _send_and_check(lambda: send(transport, request), request, check)
        except Exception as error:
            check.failure = _explain(error, request.url)
            raise

    return handle_async_request


async def _send_and_check(
    send: Callable[[], Awaitable[httpx.Response]], request: httpx.Request, check: AnswerCheck
) -> httpx.Response:
    import httpx

    request.headers["accept-encoding"] = "gzip"  # others could not be decompressed piece by piece
    response = await send()
    try:
        if response.has_redirect_location:
            _check_redirect(request.url, response.headers["location"])
        body = await _read(response, check.max_bytes)
    finally:
        await response.aclose()
    if response.is_success:
        _check_body(body)
    elif request.url.scheme == "http" and any(sign in body.lower() for sign in _HTTPS_EXPECTED):
        raise WrongAddress(f"the server expects https: {_USE_HTTPS}")
    headers = [item for item in response.headers.multi_items() if item[0] not in _ABOUT_BODY]
    return httpx.Response(
        response.status_code, headers=headers, stream=httpx.ByteStream(body), request=request
    )


def _check_redirect(url: httpx.URL, location: str) -> None:
    """Raise if a redirect leaves the origin: another server must not get the request."""
    import httpx

    try:
        target = url.join(location)
    except httpx.InvalidURL:
        raise WrongAddress("the server redirects to an invalid URL") from None
    if _origin(target) != _origin(url):
        raise WrongAddress(
            f"the server redirects to another origin, {_origin(target)}, which gets nothing; if "
            "that is the right address, set judge.api_base to it"
        )


def _origin(url: httpx.URL) -> str:
    return str(url.copy_with(userinfo=b"", path="/", query=None, fragment=None)).rstrip("/")


async def _read(response: httpx.Response, max_bytes: int) -> bytes:
    """Read and decompress the body; never hold more than the limit.

    Raises:
        BadAnswer: The body of a successful answer is larger, or compressed in another way.
    """
    limit = max_bytes if response.is_success else _MOST_ERROR_BYTES
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        if response.is_success:
            raise BadAnswer(f"compressed as {encoding[:40]!r}, which was not asked for")
        return b""
    body = bytearray()
    async for piece in _pieces(response, limit, is_plain=encoding in {"", "identity"}):
        body += piece
        if len(body) > limit:
            break
    if len(body) > limit and response.is_success:
        size = f"{max_bytes / _MEGABYTE:g} MB"
        raise BadAnswer(f"larger than {size}, the limit of judge.max_reply_mb")
    return bytes(body[:limit])


async def _pieces(response: httpx.Response, limit: int, *, is_plain: bool) -> AsyncIterator[bytes]:
    """Yield the decompressed body in pieces of at most `limit` bytes and one."""
    inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
    async for chunk in response.aiter_raw():
        rest = chunk
        while rest:
            yield rest if is_plain else inflater.decompress(rest, limit + 1)
            rest = b"" if is_plain else inflater.unconsumed_tail


def _check_body(body: bytes) -> None:
    """Check what LiteLLM would convert silently, or raise a stack trace about."""
    try:
        answer = json.loads(body)
    except json.JSONDecodeError:
        return  # a page of a proxy, or events: LiteLLM knows what its providers send
    except RecursionError:
        raise BadAnswer("nested too deeply") from None
    except UnicodeDecodeError:
        raise BadAnswer("not UTF-8") from None
    except ValueError:  # of Python's limit for the digits of a whole number
        raise BadAnswer("a number with too many digits") from None
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if usage is None:
        return
    if not isinstance(usage, dict):
        raise BadAnswer(f"usage is no object but {type(usage).__name__}")
    for name in _TOKEN_COUNTS:
        check_token_count(name, usage.get(name))


def _explain(error: Exception, url: httpx.URL) -> Exception:
    """Return the failure of the call that an exception means here, or else the exception."""
    if isinstance(error, zlib.error):
        return TransientFailure("transport: the answer is damaged", garbled=True, billed=True)
    for each in chain(error):
        # aiohttp's own subclasses of these exceptions lack the attributes.
        untrusted = getattr(each, "verify_message", None)
        if untrusted is not None:
            return WrongAddress(
                f"the certificate of {_origin(url)} is not valid: {untrusted}; if an authority of "
                "your own issued it, set SSL_CERT_FILE"
            )
        if isinstance(each, ssl.SSLError) and getattr(each, "reason", None) in _PLAIN_HTTP:
            return WrongAddress(
                "the server answers https with plain http: set judge.api_base to http://..., or "
                "enable TLS at the server"
            )
    if url.scheme == "http" and type(error.__cause__).__name__ == "ServerDisconnectedError":
        return TransientFailure(
            "transport: the server closed the connection without an answer; if it expects https, "
            f"{_USE_HTTPS}",
            garbled=True,
            billed=True,
        )
    return error
