"""A real server on loopback that sends the pieces of a stream one after the other."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

HEADERS = b"content-type: text/event-stream; charset=utf-8\r\n"
PAUSE = None
SLEEP_S = 0.6


@asynccontextmanager
async def serving(
    pieces: Sequence[bytes | None], bodies: list[bytes], *, is_ended: bool = True
) -> AsyncIterator[str]:
    """Serve pieces, with pauses where one is `PAUSE`; the server closes after one request.

    Args:
        pieces: What is sent, each piece as a chunk.
        bodies: The bodies of requests are added to it.
        is_ended: Whether the last chunk says that the body has ended.

    Yields:
        The address.
    """
    served = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await send(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # the client went away, or the test ends
        finally:
            writer.close()
            served.set()

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(line for line in head if line.startswith("content-length: "))
        bodies.append(await reader.readexactly(int(length.split()[1])))
        writer.write(b"HTTP/1.1 200 OK\r\n" + HEADERS + b"transfer-encoding: chunked\r\n\r\n")
        for piece in [*pieces, *([b""] if is_ended else [])]:
            if piece is None:
                await asyncio.sleep(SLEEP_S)
                continue
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await writer.drain()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await served.wait()
