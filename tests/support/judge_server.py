"""A real HTTP server on loopback that speaks the OpenAI protocol, and fails as it is told to.

In a test: `with JudgeServer(script) as server`, where a script says what to answer to a request. As
a process of its own, which prints its port:
`python -m tests.support.judge_server --port 0 --latency 0.5`. Without a script, replies follow from
prompt and schema alone (`tests.support.replies_by_schema`).
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from tests.support.replies_by_schema import reply_to
from tests.support.scripted_reply import Reply, rendered
from tests.support.scripted_request import read_request

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Coroutine, Iterator, Mapping

    from tests.support.scripted_request import Received

HOST = "127.0.0.1"
GATE_S = 60.0


def faithful(request: Mapping[str, Any]) -> Reply:
    """A reply that follows from the messages alone, of the form that they ask for."""
    reply = json.dumps(reply_to(request["messages"]), ensure_ascii=False)
    tokens = sum(len(message["content"]) for message in request["messages"]) // 4
    return Reply(content=reply, usage=(tokens, len(reply) // 4))


def vector(text: str, size: int = 16) -> list[float]:
    """A vector that follows from the text."""
    digest = hashlib.sha256(text.encode()).digest()
    return [byte / 255 for byte in digest[:size]]


class JudgeServer:
    """The server, in a thread of its own; a context manager.

    Attributes:
        requests: The bodies of all chat requests, in the order in which they came.
        arrivals: The time (of `time.time`) and the digest of the messages of each of `requests`.
        headers: The headers of the last request.
        script: What is answered; may be set while it serves.
        model: What is answered to a request for the facts about a model.
        looked_up: The path and the authorization of each such request.
        under_way: How many chat requests are being answered.
        most: The largest number of requests that were under way at once.
        connections: How many connections came.
        poured: The bytes of endless bodies that the system took.
    """

    def __init__(
        self,
        script: Callable[[dict[str, Any]], Reply] | list[Reply] | None = None,
        *,
        latency: float = 0.0,
        gate: int = 0,
        port: int = 0,
        quiet: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare it.

        Args:
            script: What is answered: a function, or answers in turn (then faithful ones).
            latency: Seconds that every answer takes.
            gate: No question but the first, which a judge asks alone, is answered before so many
                have been under way at once, or a minute has passed.
            port: 0 takes a free one.
            quiet: Whether bodies of requests are forgotten, as long runs need.
            tls: Serves https; a context without a certificate ends every connection.
        """
        self.script = script
        self.model = Reply(status=404, content="Not Found")
        self.looked_up: list[tuple[str, str]] = []
        self._latency = latency
        self._gate = gate
        self._full = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()
        self._port = port
        self._quiet = quiet
        self._tls = tls
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.under_way = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self.requests: list[dict[str, Any]] = []
        self.arrivals: list[tuple[float, str]] = []
        self.headers: Mapping[str, str] = {}
        self.most = 0
        self.connections = 0
        self.poured = 0

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._writers)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port, once it listens."""
        return self._port

    @property
    def url(self) -> str:
        """The base address of the API."""
        return f"http://{HOST}:{self._port}/v1"

    @property
    def count(self) -> int:
        """How many chat requests came."""
        return len(self.arrivals)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Answer no question before the end of the `with`."""
        self._loop.call_soon_threadsafe(self._free.clear)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(self._free.set)

    def stop(self) -> None:
        """Stop listening and drop all connections."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def join(self) -> None:
        """Serve until the process ends."""
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(
                self._serve, HOST, self._port, backlog=1024, limit=2**24, ssl=self._tls
            )
        )
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for writer in self._writers:
            writer.transport.abort()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(_settle(asyncio.gather(*tasks, return_exceptions=True)))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self.connections += 1
        try:
            while (received := await read_request(reader, writer)) is not None:
                said = await self._answer(received)
                writer.write(rendered(said))
                while said.endless:
                    await writer.drain()
                    writer.write(said.body or b"")
                    self.poured += len(said.body or b"")
                if said.cut:
                    await writer.drain()
                    break
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass  # the other side went away, or this one stops
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, received: Received) -> Reply:
        if received.path == "/asked":
            return Reply(body=json.dumps(self.arrivals).encode())
        if received.method == "GET":
            self.looked_up.append((received.path, received.headers.get("authorization", "")))
            return self.model
        request = received.json
        if received.path.endswith("/embeddings"):
            texts = [request["input"]] if isinstance(request["input"], str) else request["input"]
            data = [{"index": n, "embedding": vector(text)} for n, text in enumerate(texts)]
            return Reply(body=json.dumps({"object": "list", "model": "v", "data": data}).encode())
        self.headers = received.headers
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        is_first = not self.arrivals
        try:
            said = self._what(request)
            await asyncio.sleep(self._latency + said.delay)
            await self._gate_open(is_first=is_first)
        finally:
            self.under_way -= 1
        return said

    async def _gate_open(self, *, is_first: bool) -> None:
        if self.most >= self._gate:
            self._full.set()
        if not is_first:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._full.wait(), GATE_S)
        await self._free.wait()

    def _what(self, request: dict[str, Any]) -> Reply:
        shown = json.dumps(request["messages"], sort_keys=True).encode()
        self.arrivals.append((time.time(), hashlib.sha256(shown).hexdigest()))
        if not self._quiet:
            self.requests.append(request)
        if isinstance(self.script, list):
            return self.script.pop(0) if self.script else faithful(request)
        return self.script(request) if self.script is not None else faithful(request)


async def _settle(tasks: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> None:
    with suppress(asyncio.CancelledError):
        await tasks


def main() -> None:
    """Serve until killed; the first line that is printed is the port."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds for each answer")
    given = parser.parse_args()
    with JudgeServer(latency=given.latency, port=given.port, quiet=True) as server:
        print(server.port, flush=True)  # noqa: T201 - how the caller learns it
        server.join()


if __name__ == "__main__":
    main()
