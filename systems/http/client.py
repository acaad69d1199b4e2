"""Asks a system that is an HTTP service."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
import ssl
import time
import zlib
from http import cookiejar
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from calls.errors import TransientFailure
from calls.http.body import MEGABYTE, UnusableBody, chain, origin_of, tls_fault
from calls.http.exchange import ExchangeLimits, RedirectRefused, exchange
from systems.client import Request, ReturnedError, SystemRefused, WrongShape, timed
from systems.http.events import EVENT_STREAM
from systems.http.reply import HttpReplyReader
from systems.http.variables import Values, Variables
from systems.templates import Templates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx

    from calls.http.body import Arrival
    from systems.client import Answer
    from systems.settings import HttpSystem

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OWN_HEADERS = frozenset({"accept-encoding", "content-length", "host", "transfer-encoding"})
_LOGGERS = ("httpx", "httpcore")


class HttpClient:
    """Sends the questions of one benchmark to an HTTP service."""

    def __init__(self, settings: HttpSystem, questions: Sequence[Mapping[str, Any]]) -> None:
        """Compile templates and paths.

        Raises:
            SystemRefused: One of them cannot be used, or no request would contain a question.
        """
        self._settings = settings
        self._http = http = settings.http
        self._questions = questions
        self._where = f"systems.{settings.name}"
        self._check_settings()
        templates = Templates(settings.name, questions)
        self._url = templates.text(http.url, "url", finalize=_quoted)
        self._body = templates.value(http.body, "body")
        if self._url.is_fixed and self._body.is_fixed:
            raise SystemRefused(
                f"{self._where}: every request would be the same, since neither url nor body "
                "contains a field of the question: write `body: {question: '{{ question }}'}`, "
                "with the key that the service expects"
            )
        self._variables = Variables(settings.name, [http.url, *http.headers.values()])
        self._variables_in_url = "${" in http.url
        self._reader = HttpReplyReader(
            settings.name, http.paths, http.stream, is_url_fixed=self._url.is_fixed
        )
        self._limits = ExchangeLimits(
            max_bytes=int(http.max_reply_mb * MEGABYTE),
            size_key=f"{self._where}.max_reply_mb",
            address_key=f"{self._where}.url",
            server="the service",
        )
        self._tls: ssl.SSLContext | None = None
        self._idle: list[httpx.AsyncClient] = []
        """A client for each connection: one client with many searches them all, again and again."""

    def __repr__(self) -> str:
        return f"HttpClient({self._settings.name!r})"

    def request(self, question: Mapping[str, Any]) -> Request:
        """Return the request for a question; `${NAME}` is not replaced yet.

        Raises:
            SystemRefused: The templates cannot be rendered.
        """
        rendered = {"url": self._url(question), "body": self._body(question)}
        return Request(sent=rendered, key=rendered)

    def most_usd(self, request: Request) -> float | None:  # noqa: ARG002 - part of the protocol
        """Return None: only the service knows."""
        return None

    def missing_key(self) -> str | None:
        """Return which environment variable is not set; None if none is missing."""
        return self._variables.missing()

    async def open(self) -> None:
        """Render the requests of all questions, and prepare connections; none is made.

        Raises:
            SystemRefused: An environment variable is not set, or a template cannot be rendered.
        """
        import httpx

        self._variables.read()
        for question in self._questions:
            self.request(question)
        for name in _LOGGERS:  # they would log URLs and headers with keys
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._tls = httpx.create_ssl_context()
        self._idle.append(self._connection())  # the first one loads what all need

    def _connection(self) -> httpx.AsyncClient:
        """Return a client that no other request uses."""
        import httpx

        if self._idle:
            return self._idle.pop()
        assert self._tls is not None  # noqa: S101 - `open` comes first
        # Cookies would make an answer depend on the requests before it.
        no_cookies = cookiejar.CookieJar(cookiejar.DefaultCookiePolicy(allowed_domains=[]))
        return httpx.AsyncClient(
            timeout=None,  # noqa: S113 - the caller cancels
            limits=httpx.Limits(max_connections=1),
            cookies=no_cookies,
            verify=self._tls,
        )

    async def close(self) -> None:
        """Close connections."""
        while self._idle:
            await self._idle.pop().aclose()

    async def ask(self, request: Request, repeat: int) -> Answer:  # noqa: ARG002 - no seed
        """Send a request once; see `SystemClient.ask`."""
        return await timed(self._ask(request), self._settings.timeout_s)

    async def _ask(self, request: Request) -> Answer:
        values = self._variables.read()
        client = self._connection()
        started = time.monotonic()
        arrivals: list[Arrival] = []
        try:
            built = self._build(client, request, values)
            response, body = await self._send(client, built, values, arrivals)
        finally:
            self._idle.append(client)
        return self._reader.read(response, body, values, started, arrivals)

    def _build(self, client: httpx.AsyncClient, request: Request, values: Values) -> httpx.Request:
        import httpx

        sent = request.sent
        plain = "application/json, text/plain;q=0.9, */*;q=0.5"
        headers = {"accept": plain if self._http.stream is None else EVENT_STREAM}
        content: bytes | None = None
        if isinstance(sent["body"], str):
            headers["content-type"] = "text/plain; charset=utf-8"
            content = sent["body"].encode("utf-8", "replace")
        elif self._http.body is not None:
            headers["content-type"] = "application/json"
            content = json.dumps(sent["body"], allow_nan=False).encode()
        headers |= {name.lower(): values.fill(value) for name, value in self._http.headers.items()}
        headers["accept-encoding"] = "gzip"  # others could not be decompressed piece by piece
        try:
            url = httpx.URL(values.fill(sent["url"]))
        except httpx.InvalidURL as error:
            in_value = "an environment variable makes it invalid"
            shown = in_value if self._variables_in_url else error
            raise self._bad_url(str(shown)) from None
        if url.scheme not in {"http", "https"} or not url.host:
            raise self._bad_url("expected http://... or https://...")
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        return client.build_request(self._http.method, url, headers=encoded, content=content)

    async def _send(
        self,
        client: httpx.AsyncClient,
        request: httpx.Request,
        values: Values,
        arrivals: list[Arrival],
    ) -> tuple[httpx.Response, bytes]:
        """Send a request and read the answer."""
        import httpx

        async def send(request: httpx.Request) -> httpx.Response:
            return await client.send(request, stream=True)

        try:
            response, body = await exchange(send, request, self._limits, arrivals=arrivals)
        except UnusableBody as error:
            raise ReturnedError(f"the answer is {error}") from None
        except RedirectRefused as error:
            raise WrongShape(values.redact(str(error))) from None
        except zlib.error:
            raise TransientFailure("the answer is damaged", billed=True) from None
        except (httpx.HTTPError, OSError) as error:
            raise self._explain(error, request.url, values) from None
        return response, body or b""

    def _explain(
        self, error: Exception, url: httpx.URL, values: Values
    ) -> TransientFailure | SystemRefused:
        """Return the failure that an exception of httpx means."""
        import httpx

        # Where variables form the address, a message about its parts could show a part of a secret.
        origin = self._http.url if self._variables_in_url else origin_of(url)
        fault = tls_fault(error, origin, self._limits.address_key)
        if fault is not None:
            return SystemRefused(f"{self._where}: {fault}")
        reason = values.redact(" ".join(str(error).split())) or type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ProxyError):
            return TransientFailure(f"no connection to {origin}: {_cause(error) or reason}")
        if isinstance(error, httpx.TimeoutException):
            return TransientFailure("timeout", billed=True)
        if isinstance(error, httpx.LocalProtocolError | httpx.UnsupportedProtocol):
            return self._bad_url(reason)
        return TransientFailure(f"the connection broke: {reason}", billed=True)

    def _bad_url(self, reason: str) -> SystemRefused:
        return SystemRefused(f"{self._where}.url: {self._http.url!r}: {reason}")

    def _check_settings(self) -> None:
        if self._http.method == "GET" and self._http.body is not None:
            raise SystemRefused(
                f"{self._where}.body: GET has no body: set method: POST, or write "
                "url: https://.../?q={{ question }}"
            )
        for name, value in self._http.headers.items():
            if not _HEADER_NAME.fullmatch(name):
                raise SystemRefused(f"{self._where}.headers: {name!r} is not a header name")
            if name.lower() in _OWN_HEADERS:
                raise SystemRefused(f"{self._where}.headers.{name}: this header cannot be set")
            if _CONTROL.search(value):
                raise SystemRefused(f"{self._where}.headers.{name}: a control character")


def _cause(error: Exception) -> str | None:
    """Return what the operating system says of a connection that was not made."""
    waiting: list[BaseException] = [error]
    while waiting:
        for each in chain(waiting.pop()):
            if isinstance(each, socket.gaierror):
                return str(each.strerror)
            if isinstance(each, OSError) and each.errno and not isinstance(each, ssl.SSLError):
                return os.strerror(each.errno)
            waiting += getattr(each, "exceptions", ())
    return None


def _quoted(value: Any) -> str:
    """Return a value as a part of a URL."""
    return "" if value is None else quote(str(value).encode("utf-8", "replace"), safe="")
