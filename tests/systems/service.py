"""A scripted HTTP service on loopback, and requests to it by the client under test."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from calls.errors import CallFailure
from systems.client import Answer, SystemRefused
from systems.clients import make_client
from systems.http.request import HttpRequest
from systems.settings import HttpSystem, SystemSettings
from tests.support.scripted_reply import Reply, rendered
from tests.support.scripted_request import Received, read_request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

HOST = "127.0.0.1"
TEXT = {"content-type": "text/plain"}
QUESTION: Mapping[str, Any] = {
    "question_id": "q/1 ä",
    "question": "Which river flows through Paris?",
    "choices": ["Seine", "Rhine"],
    "tags": {"lang": "en"},
    "extra": {"limit": 3},
}


@dataclass
class Service:
    """A server in the event loop of the test.

    Attributes:
        script: What it answers: in turn, the last one again and again; or a function.
        tls: Serves https.
        received: The requests, in the order in which they came.
        connections: How many connections came.
    """

    script: list[Reply] | Callable[[Received], Reply]
    tls: ssl.SSLContext | None = None
    received: list[Received] = field(default_factory=list)
    connections: int = 0

    @property
    def url(self) -> str:
        """The address."""
        port = self._server.sockets[0].getsockname()[1]
        return f"{'https' if self.tls else 'http'}://{HOST}:{port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, HOST, 0, ssl=self.tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (received := await read_request(reader, writer)) is not None:
                self.received.append(received)
                said = self._said(received)
                await asyncio.sleep(said.delay)
                writer.write(rendered(said))
                while said.endless:
                    await writer.drain()
                    writer.write(said.body or b"")
                await writer.drain()
                if said.cut:
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass  # the other side went away, or the test ends
        finally:
            writer.close()

    def _said(self, received: Received) -> Reply:
        if callable(self.script):
            return self.script(received)
        return self.script[min(len(self.received), len(self.script)) - 1]


def system(url: str, **changes: Any) -> HttpSystem:
    """Settings of a service; the path and the rest may be changed."""
    path = changes.pop("path", "/ask")
    body = {"question": "{{ question }}"}
    shared = {name: changes.pop(name) for name in SystemSettings.model_fields & changes.keys()}
    http = HttpRequest(**{"url": url + path, "body": body} | changes)
    return HttpSystem(**{"name": "rag", "home": Path()} | shared, http=http)


def said(reply: object, **changes: Any) -> Reply:
    """An answer with a JSON body."""
    return Reply(body=json.dumps(reply).encode(), **changes)


async def ask_once(
    url: str, question: Mapping[str, Any] = QUESTION, **changes: Any
) -> Answer | CallFailure | SystemRefused:
    """Ask one question; return the answer or the failure."""
    try:
        client = make_client(system(url, **changes), [question])
        request = client.request(question)
        await client.open()
        try:
            return await client.ask(request, 0)
        finally:
            await client.close()
    except (CallFailure, SystemRefused) as failure:
        return failure


def ask(
    script: Reply | list[Reply] | Callable[[Received], Reply],
    question: Mapping[str, Any] = QUESTION,
    **changes: Any,
) -> tuple[Any, list[Received]]:
    """Ask a service one question; return the answer or the failure, and what the service got."""
    scripted = [script] if isinstance(script, Reply) else script

    async def run() -> tuple[Any, list[Received]]:
        async with Service(scripted) as service:
            return await ask_once(service.url, question, **changes), service.received

    return asyncio.run(run())
