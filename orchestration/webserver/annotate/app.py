"""The web application: the page, its data, and labels that are saved as soon as they are given."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from assets.publishing.report.data_files import to_json
from orchestration.webserver.annotate.labelling import InvalidLabel
from orchestration.webserver.annotate.shown import show_sample
from warehouse.errors import WarehouseError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from assets.analysis.label_queue import SampleId
    from orchestration.webserver.annotate.labelling import Labelling
    from orchestration.webserver.annotate.publisher import Publisher
    from warehouse.publish.snapshot import Snapshot

FILES = Path(__file__).with_name("page")
CSRF_HEADER = "x-csrf-token"
MAX_BODY = 10_000
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class _Sent(BaseModel):
    """What the page sends about a metric, and for whom."""

    model_config = ConfigDict(extra="forbid", strict=True)

    benchmark: str
    metric: str
    annotator: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^\S(.*\S)?$")]


class _SentSkip(_Sent):
    sample: int


class _SentLabel(_SentSkip):
    value: Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True)
class Annotation:
    """The labelling of a project, served to browsers that know the token.

    Attributes:
        metrics: What may be labelled, by benchmark and full name of the metric; called to open it.
        copy: The published copy, from which texts are read.
        publisher: Publishes new labels.
        is_blind: Whether system and verdict are hidden.
        token: The secret of the address, with which a browser gets its cookie.
        cookie: The name of the cookie. Browsers send cookies to all ports of a host.
        csrf: The secret of the page, without which nothing is changed.
    """

    metrics: Mapping[tuple[str, str], Callable[[], Labelling]]
    copy: Snapshot
    publisher: Publisher
    is_blind: bool
    token: str
    cookie: str
    csrf: str

    def app(self) -> Starlette:
        """Return the application."""
        return Starlette(
            routes=[
                Route("/", self.page),
                Route("/page.js", self.file),
                Route("/page.css", self.file),
                Route("/metrics", self.list_metrics),
                Route("/next", self.next),
                Route("/labels", self.save, methods=["POST"]),
                Route("/skip", self.skip, methods=["POST"]),
                Route("/undo", self.undo, methods=["POST"]),
            ],
            exception_handlers={
                HTTPException: _refuse,
                InvalidLabel: _explain(400),
                ValidationError: _explain_fields,
                WarehouseError: _explain(503),
            },
        )

    async def page(self, request: Request) -> Response:
        """Return the page; the token of the address becomes a cookie."""
        given = request.query_params.get("token")
        if given is not None:
            self._require(given, self.token, "the address is not the one that was printed")
            response: Response = RedirectResponse("/", status_code=303, headers=HEADERS)
            # Lax, so that a link in a chat works, too; changes need more than the cookie.
            response.set_cookie(self.cookie, self.token, httponly=True, samesite="lax")
            return response
        self._require_cookie(request)
        html = (FILES / "page.html").read_text(encoding="utf-8")
        return HTMLResponse(html.replace("CSRF-TOKEN", self.csrf), headers=HEADERS)

    async def file(self, request: Request) -> Response:
        """Return the script or the style of the page."""
        self._require_cookie(request)
        return FileResponse(FILES / request.url.path.removeprefix("/"), headers=HEADERS)

    async def list_metrics(self, request: Request) -> Response:
        """Return what may be labelled."""
        self._require_cookie(request)
        names = [{"benchmark": benchmark, "metric": metric} for benchmark, metric in self.metrics]
        return JSONResponse({"metrics": names, "is_blind": self.is_blind}, headers=HEADERS)

    async def next(self, request: Request) -> Response:
        """Return an annotator's next sample of a metric."""
        self._require_cookie(request)
        sent = _Sent.model_validate(dict(request.query_params))
        return await self._answer(sent, lambda labelling: labelling.next(sent.annotator))

    async def save(self, request: Request) -> Response:
        """Save a label, and return the next sample."""
        sent = _SentLabel.model_validate_json(await self._read(request))

        def work(labelling: Labelling) -> SampleId | None:
            labelling.save(sent.annotator, sent.sample, sent.value)
            self.publisher.add(sent.benchmark)
            return labelling.next(sent.annotator)

        return await self._answer(sent, work)

    async def skip(self, request: Request) -> Response:
        """Leave out a sample, and return the next one."""
        sent = _SentSkip.model_validate_json(await self._read(request))

        def work(labelling: Labelling) -> SampleId | None:
            labelling.skip(sent.annotator, sent.sample)
            return labelling.next(sent.annotator)

        return await self._answer(sent, work)

    async def undo(self, request: Request) -> Response:
        """Take back the annotator's last label, and return its sample."""
        sent = _Sent.model_validate_json(await self._read(request))

        def work(labelling: Labelling) -> SampleId | None:
            sample = labelling.undo(sent.annotator)
            if sample is None:
                return labelling.next(sent.annotator)
            self.publisher.add(sent.benchmark)
            return sample

        return await self._answer(sent, work)

    async def _answer(self, sent: _Sent, work: Callable[[Labelling], SampleId | None]) -> Response:
        """Do something to the labels of a metric, and return a sample and the progress."""
        opened = self.metrics.get((sent.benchmark, sent.metric))
        if opened is None:
            raise InvalidLabel(f"{sent.metric!r} of {sent.benchmark!r} is not labelled here")

        def found() -> dict[str, Any]:
            labelling = opened()
            sample = work(labelling)
            shown: dict[str, Any] | None = None
            if sample is not None:
                shown = {
                    "number": labelling.number_of(sample),
                    **show_sample(
                        self.copy,
                        sent.benchmark,
                        labelling.evaluator,
                        labelling.metric.name,
                        sample,
                        is_blind=self.is_blind,
                    ),
                }
            published = self.publisher.published_at
            return {
                "metric": labelling.describe(),
                "sample": shown,
                "progress": labelling.progress(sent.annotator),
                "published": {
                    "at": published.isoformat() if published else None,
                    "is_pending": self.publisher.is_pending,
                    "error": self.publisher.error,
                },
            }

        shown = to_json(await run_in_threadpool(found))
        return Response(shown, media_type="application/json", headers=HEADERS)

    async def _read(self, request: Request) -> bytes:
        """Return the body of a request that may change something."""
        self._require_cookie(request)
        self._require(
            request.headers.get(CSRF_HEADER, ""),
            self.csrf,
            "the request does not come from the page: reload it",
        )
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                raise HTTPException(413, f"more than {MAX_BODY} bytes")
        return body

    def _require_cookie(self, request: Request) -> None:
        reason = "open the address that `scoreline annotate` printed"
        self._require(request.cookies.get(self.cookie, ""), self.token, reason)

    def _require(self, given: str, expected: str, reason: str) -> None:
        if not secrets.compare_digest(given.encode(), expected.encode()):
            raise HTTPException(403, reason)


def _refuse(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else ""
    return JSONResponse({"error": detail}, status_code=status, headers=HEADERS)


def _explain(status: int) -> Callable[[Request, Exception], Response]:
    def explain(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status_code=status, headers=HEADERS)

    return explain


def _explain_fields(_: Request, error: Exception) -> Response:
    problems = error.errors(include_url=False) if isinstance(error, ValidationError) else []
    found = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in problems]
    return JSONResponse({"error": "; ".join(found)}, status_code=400, headers=HEADERS)
