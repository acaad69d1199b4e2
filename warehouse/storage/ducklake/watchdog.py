"""Closes the connections to a PostgreSQL server that has stopped answering.

TCP's own timeouts notice a lost network or machine. They do not notice a server that hangs, or one
that is lost behind a proxy, because packets are still acknowledged there. libpq then waits without
limit, and DuckDB cannot interrupt it. A closed connection ends the wait with an error.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Address: TypeAlias = tuple[str, int]

INTERVAL_S = 5.0
"""The pause between two requests."""

TIMEOUT_S = 5.0
"""The time that a server has for an answer. It needs no query and no free connection for it."""

MISSING_ANSWERS = 3
"""The number of missing answers in a row after which connections are closed."""

SSL_REQUEST = struct.pack("!ii", 8, 80877103)
"""The first message of PostgreSQL's protocol that is answered, with a single byte."""


class Watchdog:
    """Sends requests to servers from a thread until it is stopped."""

    def __init__(self, servers: Iterable[Address]) -> None:
        self._servers = tuple(servers)
        self._stopped = threading.Event()
        if self._servers:
            threading.Thread(target=self._watch, name="lake-watchdog", daemon=True).start()

    def stop(self) -> None:
        """Stop sending requests."""
        self._stopped.set()

    def _watch(self) -> None:
        missing = dict.fromkeys(self._servers, 0)
        while not self._stopped.wait(INTERVAL_S):
            for server in self._servers:
                missing[server] = 0 if is_postgres(server) else missing[server] + 1
                if missing[server] == MISSING_ANSWERS:
                    close_connections(server)
                    missing[server] = 0


def tcp_connections() -> dict[Address, tuple[Address, int]]:
    """Return the remote address and file descriptor of each TCP connection by its local address."""
    import psutil

    return {
        tuple(each.laddr): (tuple(each.raddr), each.fd)
        for each in psutil.Process().net_connections("tcp")
        if each.raddr
    }


def servers_since(before: dict[Address, tuple[Address, int]]) -> set[Address]:
    """Return the addresses of PostgreSQL servers to which connections were opened since then."""
    opened = {remote for local, (remote, _) in tcp_connections().items() if local not in before}
    return {each for each in opened if is_postgres(each)}


def is_postgres(server: Address) -> bool:
    """Return whether a server answers as PostgreSQL does."""
    try:
        with socket.create_connection(server, timeout=TIMEOUT_S) as connection:
            connection.sendall(SSL_REQUEST)
            return connection.recv(1) in {b"S", b"N"}
    except OSError:
        return False


def close_connections(server: Address) -> None:
    """Close the connections of this process to a server, so that calls on them fail."""
    for remote, descriptor in tcp_connections().values():
        if remote != server:
            continue
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
            # The descriptor may belong to another connection by now.
            if connection.getpeername()[:2] == server:
                connection.shutdown(socket.SHUT_RDWR)
