"""Bodies of HTTP answers, read up to a limit, and faults of TLS."""

from __future__ import annotations

import ssl
import time
import zlib
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import httpx

MEGABYTE = 1_000_000
_MOST_ERROR_BYTES = 64_000
"""Longer answers to failed requests are cut: only their status and beginning are used."""
_GZIP_OR_ZLIB = 47
"""The window bits by which zlib recognises both formats."""
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})

_PLAIN_HTTP = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"})
"""What OpenSSL calls an answer that is not TLS."""


class UnusableBody(Exception):  # noqa: N818 - callers raise errors of their own
    """A body is too large, or compressed in a way that was not requested."""


class Arrival(NamedTuple):
    """When a part of a body arrived.

    Attributes:
        size: The bytes of the body until then.
        time: The time by the monotonic clock, in seconds.
    """

    size: int
    time: float


async def read_body(
    response: httpx.Response,
    max_bytes: int,
    limit_key: str,
    arrivals: list[Arrival] | None = None,
) -> bytes:
    """Read and decompress a body; never hold more than the limit.

    The request must accept gzip only: other formats could not be decompressed piece by piece.

    Args:
        response: The answer, as a stream.
        max_bytes: The limit for successful answers; those to failed requests are cut.
        limit_key: The configuration key of the limit, for the message.
        arrivals: Filled with when the parts of the body arrived.

    Raises:
        UnusableBody: The body of a successful answer is larger, or compressed in another way.
        zlib.error: The compressed body is damaged.
    """
    limit = max_bytes if response.is_success else _MOST_ERROR_BYTES
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        if response.is_success:
            raise UnusableBody(f"compressed as {encoding[:40]!r}, which was not asked for")
        return b""
    body = bytearray()
    if arrivals is not None:
        arrivals.clear()  # those of a response before a redirect
    async for piece in _pieces(response, limit, is_plain=encoding in {"", "identity"}):
        body += piece
        if arrivals is not None:
            arrivals.append(Arrival(len(body), time.monotonic()))
        if len(body) > limit:
            break
    if len(body) > limit and response.is_success:
        raise UnusableBody(describe_excess(max_bytes, limit_key))
    return bytes(body[:limit])


def describe_excess(max_bytes: int, limit_key: str) -> str:
    """Return what is wrong with an answer that is larger than the limit."""
    return f"larger than {max_bytes / MEGABYTE:g} MB, the limit of {limit_key}"


def origin_of(url: httpx.URL) -> str:
    """Return scheme, host and port of a URL."""
    return str(url.copy_with(userinfo=b"", path="/", query=None, fragment=None)).rstrip("/")


def tls_fault(error: BaseException, origin: str, address_key: str) -> str | None:
    """Return what is wrong with TLS, and what to set; None if an exception has another cause.

    Args:
        error: The exception.
        origin: What messages call the origin of the request.
        address_key: The configuration key of the address.
    """
    for each in chain(error):
        # aiohttp's own subclasses of these exceptions lack the attributes.
        untrusted = getattr(each, "verify_message", None)
        if untrusted is not None:
            return (
                f"the certificate of {origin} is not valid: {untrusted}; if an authority of your "
                "own issued it, set SSL_CERT_FILE"
            )
        if isinstance(each, ssl.SSLError) and getattr(each, "reason", None) in _PLAIN_HTTP:
            return (
                f"the server answers https with plain http: set {address_key} to http://..., or "
                "enable TLS at the server"
            )
    return None


def parse_retry_after(given: str | None) -> float | None:
    """Return the seconds of `Retry-After`, which is a number or a date; None if it is neither."""
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        pass
    else:
        return max(0.0, seconds) if seconds < float("inf") else None
    try:
        until = parsedate_to_datetime(given)
    except ValueError:
        return None
    # A date with `-0000` has no time zone information; it is UTC.
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its causes and contexts."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            waiting += [each.__cause__, each.__context__]


async def _pieces(response: httpx.Response, limit: int, *, is_plain: bool) -> AsyncIterator[bytes]:
    """Yield the decompressed body in pieces of at most `limit` bytes and one."""
    inflater = zlib.decompressobj(_GZIP_OR_ZLIB)
    is_empty = True
    async for chunk in response.aiter_raw():
        rest = chunk
        is_empty = is_empty and not chunk
        while rest:
            yield rest if is_plain else inflater.decompress(rest, limit + 1)
            rest = b"" if is_plain else inflater.unconsumed_tail
    if not (is_plain or is_empty or inflater.eof):
        raise zlib.error("the compressed data end early")
