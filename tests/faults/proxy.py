"""A TCP proxy that can lose every packet, stop answering, or close its connections.

To lose packets takes no privileges: a filter on a socket makes the kernel discard what arrives for
it before it is acknowledged, as a network does that is cut. A proxy that merely stops forwarding is
another fault: its kernel still acknowledges everything, as that of a machine does whose PostgreSQL
hangs.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
"""Options of Linux, which Python does not name."""

_RETURN_NOTHING = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))
_FILTER = struct.pack("HL", 1, ctypes.addressof(_RETURN_NOTHING))


class Proxy:
    """Forwards connections on loopback to a server.

    Attributes:
        port: Where it listens.
        broken: How many connections were open when `cut`, `freeze` or `close` was called.
    """

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.broken = 0
        self._forwards = threading.Event()
        self._forwards.set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._last = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Lose all packets in both directions; neither side is told."""
        self.freeze()
        for each in self._sockets():
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, _FILTER)

    def freeze(self) -> None:
        """Acknowledge everything and forward nothing."""
        self._forwards.clear()
        self.broken = len(self._open())

    def heal(self) -> None:
        """Forward again, and whatever was held back first."""
        for each in self._sockets():
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)
        self._forwards.set()

    def close(self) -> None:
        """Reset all connections; new ones are forwarded."""
        pairs = self._open()
        self.broken = len(pairs)
        for each in (side for pair in pairs for side in pair):
            _reset(each)

    def close_at(self, query: str) -> None:
        """Reset all connections, as `close` does, when a query with this text is sent."""
        self.broken = 0
        self._last = query.encode()

    def stop(self) -> None:
        """Stop listening and reset all connections."""
        self.heal()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.close()

    def _sockets(self) -> list[socket.socket]:
        return [self._listener, *(side for pair in self._open() for side in pair)]

    def _open(self) -> list[tuple[socket.socket, socket.socket]]:
        with self._lock:
            return list(self._pairs)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
            except OSError:
                return  # `stop` was called
            with self._lock:
                self._pairs.append((near, far))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._forwards.wait()
                if self._last and self._last in data:
                    self._last = b""
                    self.close()
                sink.sendall(data)
        # A frozen proxy does not pass on that one side has gone away either.
        self._forwards.wait()
        with self._lock:
            self._pairs = [pair for pair in self._pairs if source not in pair]
        for each in (source, sink):
            _reset(each)


def _reset(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()


@contextmanager
def proxy(host: str, port: int) -> Iterator[Proxy]:
    """A proxy in front of a server for the duration of the `with`."""
    made = Proxy(host, port)
    try:
        yield made
    finally:
        made.stop()
