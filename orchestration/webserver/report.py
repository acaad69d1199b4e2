"""Serves the report beside Dagster's interface, so that links from there open it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.staticfiles import StaticFiles

from assets.keys import REPORT_ROUTE

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

PAGES = (".html", ".js", ".css")
"""The files of a report; the published copy beside them has other ones."""


def with_report(app: ASGIApp, folder: Path) -> ASGIApp:
    """Wrap an application, so that requests below `REPORT_ROUTE` get the report of a folder."""
    report = ExceptionMiddleware(_Pages(directory=folder, html=True, check_dir=False))
    prefix = REPORT_ROUTE.rstrip("/")

    async def choose(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(REPORT_ROUTE):
            await report({**scope, "root_path": prefix}, receive, send)
        else:
            await app(scope, receive, send)

    return choose


class _Pages(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        if PurePosixPath(path).suffix not in ("", *PAGES):
            raise HTTPException(404)
        return await super().get_response(path, scope)
