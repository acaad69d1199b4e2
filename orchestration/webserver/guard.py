"""Refuses requests that a page of another site makes through the user's browser.

The interface has no access control, because only this machine reaches it. The user's browser does,
too: a page of any site may send requests to it, and may read the replies if the site's name
resolves to 127.0.0.1 (DNS rebinding). The Host header shows the name, Origin and Sec-Fetch-Site the
page; a browser does not let pages change them. A link on another page may be followed, so a request
that a link can make (GET) must not change anything: Dagster would run GraphQL mutations by GET.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SERVER_HEADER = "x-scoreline-server"
"""The header of every reply, by which `scoreline dev` recognises the server that it started."""


def guard(app: ASGIApp, allowed_hosts: Sequence[str], server_id: str) -> ASGIApp:
    """Wrap an application, so that it only gets requests to these hosts from its own pages."""
    own = SameOrigin(WithoutMutationsByGet(app))
    trusted = TrustedHostMiddleware(own, allowed_hosts, www_redirect=False)
    return _NamedServer(trusted, server_id)


class SameOrigin:
    """Refuses HTTP requests and WebSockets that a page of another origin starts."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        app = self.app
        if scope["type"] in ("http", "websocket") and not _is_same_origin(Headers(scope=scope)):
            app = PlainTextResponse("Request from another origin", status_code=403)
        await app(scope, receive, send)


def _is_same_origin(headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    # A page embeds an image, say, without an Origin. Links from other pages may be followed.
    site = headers.get("sec-fetch-site", "none")
    return site in ("none", "same-origin") or headers.get("sec-fetch-mode") == "navigate"


class WithoutMutationsByGet:
    """Refuses GraphQL that changes something, unless it is sent by POST."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        app = self.app
        if scope["type"] == "http" and scope["method"] != "POST":
            given = QueryParams(scope.get("query_string", b"")).getlist("query")
            if any(map(_changes_something, given)):
                said = "Mutations are accepted by POST only"
                app = PlainTextResponse(said, status_code=405, headers={"Allow": "POST"})
        await app(scope, receive, send)


def _changes_something(query: str) -> bool:
    """Return whether GraphQL has an operation that is not a query; false if it is not valid."""
    from graphql import GraphQLError, OperationDefinitionNode, OperationType, parse

    try:
        definitions = parse(query).definitions
    except (GraphQLError, RecursionError):
        return False  # no server can execute it
    return any(
        isinstance(each, OperationDefinitionNode) and each.operation is not OperationType.QUERY
        for each in definitions
    )


class _NamedServer:
    def __init__(self, app: ASGIApp, server_id: str) -> None:
        self.app = app
        self.server_id = server_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[SERVER_HEADER] = self.server_id
            await send(message)

        await self.app(scope, receive, send_named)
