"""What a scripted server on loopback reads: one HTTP/1.1 request after the other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

_TLS_HELLO = b"\x16"
_NO_TLS = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Received:
    """A request that came; the names of the headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Received | None:
    """Return the next request of a connection.

    None after the beginning of TLS, which is refused as a server without TLS does.

    Raises:
        asyncio.IncompleteReadError: The other side closed the connection.
    """
    first = await reader.readexactly(1)
    if first == _TLS_HELLO:
        writer.write(_NO_TLS)
        return None
    rest = await reader.readuntil(b"\r\n\r\n")
    head = (first + rest).decode("latin-1").split("\r\n")
    headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    headers = {name.lower(): value for name, value in headers.items()}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path, _ = head[0].split()
    return Received(method, path, headers, body)
