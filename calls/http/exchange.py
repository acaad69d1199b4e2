"""One exchange with a server: its answer is limited in size, and no other origin gets the request.

Judges, models and HTTP systems send through `exchange`, on the transports that they have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from calls.http.body import origin_of, read_body

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx

    from calls.http.body import Arrival

_MOST_REDIRECTS: Final = 5
_SEE_OTHER: Final = 303
_ABOUT_BODY: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_OF_CONTENT: Final = frozenset({"content-length", "content-type"})


class RedirectRefused(Exception):  # noqa: N818 - callers raise errors of their own
    """The server redirects to where the request must not go; the message says what to set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLimits:
    """What an answer may be.

    Attributes:
        max_bytes: The largest size of an answer, decompressed.
        size_key: The configuration key of that limit, for messages.
        address_key: The configuration key of the address, for messages.
        server: What messages call the server.
    """

    max_bytes: int
    size_key: str
    address_key: str
    server: str = "the server"


async def exchange(
    send: Callable[[httpx.Request], Awaitable[httpx.Response]],
    request: httpx.Request,
    limits: ExchangeLimits,
    *,
    arrivals: list[Arrival] | None = None,
    is_handed_over: Callable[[httpx.Response], bool] = lambda _: False,
) -> tuple[httpx.Response, bytes | None]:
    """Send a request, follow redirects within its origin, and read the answer.

    A redirect repeats the request; only 303 changes it to GET, to fetch the answer elsewhere.

    Args:
        send: Sends a request once, and returns the response before its body has been read.
        request: The request. It must accept no other compression than gzip.
        limits: The limits of the answer.
        arrivals: Filled with when the parts of the body arrived.
        is_handed_over: Returns whether the caller reads the body of a response itself.

    Returns:
        The response, and its body, decompressed; None if the caller reads it.

    Raises:
        RedirectRefused: The server redirects to another origin, to no URL, or too often.
        UnusableBody: The answer is too large, or compressed in another way.
        zlib.error: The answer is damaged.
        httpx.HTTPError: `send` failed.
    """
    import httpx

    await request.aread()
    for _ in range(_MOST_REDIRECTS + 1):
        try:
            response = await send(request)
        except httpx.RemoteProtocolError as error:
            if "location header" in str(error):  # a client of httpx reads it first
                raise _to_no_url(limits) from None
            raise
        if is_handed_over(response):
            return response, None
        try:
            target = None
            if response.has_redirect_location:
                target = _target(request.url, response.headers["location"], limits)
            body = await read_body(response, limits.max_bytes, limits.size_key, arrivals)
        finally:
            await response.aclose()
        if target is None:
            return _whole(response, body, request), body
        request = _redirected(request, target, response.status_code)
    raise RedirectRefused(f"{limits.server} redirects more than {_MOST_REDIRECTS} times")


def _whole(response: httpx.Response, body: bytes, request: httpx.Request) -> httpx.Response:
    """Return a response whose body has been read and decompressed."""
    import httpx

    headers = [each for each in response.headers.multi_items() if each[0] not in _ABOUT_BODY]
    stream = httpx.ByteStream(body)
    return httpx.Response(response.status_code, headers=headers, stream=stream, request=request)


def _target(url: httpx.URL, location: str, limits: ExchangeLimits) -> httpx.URL:
    """Return the target of a redirect; another origin must not get the request."""
    import httpx

    try:
        target = url.join(location)
    except httpx.InvalidURL:
        raise _to_no_url(limits) from None
    if origin_of(target) != origin_of(url):
        raise RedirectRefused(
            f"{limits.server} redirects to another origin, {origin_of(target)}, which gets "
            f"nothing; if that is the right address, set {limits.address_key} to it"
        )
    return target


def _to_no_url(limits: ExchangeLimits) -> RedirectRefused:
    return RedirectRefused(f"{limits.server} redirects to an invalid URL")


def _redirected(request: httpx.Request, target: httpx.URL, status: int) -> httpx.Request:
    import httpx

    if status != _SEE_OTHER:
        return httpx.Request(
            request.method,
            target,
            headers=request.headers,
            content=request.content,
            extensions=request.extensions,
        )
    headers = [each for each in request.headers.multi_items() if each[0] not in _OF_CONTENT]
    return httpx.Request("GET", target, headers=headers, extensions=request.extensions)
