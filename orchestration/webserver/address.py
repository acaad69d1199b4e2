"""Choose the address of the interface, and the hosts by which a browser may name it."""

from __future__ import annotations

import errno
import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil

from orchestration.errors import OrchestrationError

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_PORT = 3000
PORTS_TRIED = 100
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - the user asks for them
"""Addresses that stand for all of the machine, and where to reach each from the machine itself."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the interface listens.

    Attributes:
        host: A host name or an IP address.
        port: A port.
    """

    host: str
    port: int

    @property
    def connectable(self) -> str:
        """The host to connect to from this machine."""
        return _EVERY_ADDRESS.get(self.host, self.host)

    @property
    def url(self) -> str:
        """The address for a browser on this machine."""
        return f"http://{_in_header(self.connectable)}:{self.port}"

    def allowed_hosts(self, names: Iterable[str] = ()) -> list[str]:
        """Return the hosts that requests may name.

        Loopback names, the host itself if it is another one, and those that the user adds. If the
        interface listens on every address of the machine, its addresses and its name, too.
        """
        hosts = {*LOOPBACK, _in_header(self.host), *map(_in_header, names)}
        if self.host in _EVERY_ADDRESS:
            found = [each for group in psutil.net_if_addrs().values() for each in group]
            internet = (socket.AF_INET, socket.AF_INET6)
            addresses = [
                each.address.partition("%")[0] for each in found if each.family in internet
            ]
            hosts |= {socket.gethostname(), *map(_in_header, addresses)}
        return sorted(each.lower() for each in hosts)


def choose_address(host: str, port: int | None) -> Address:
    """Return an address that nothing listens on.

    Args:
        host: A host name or an IP address of this machine.
        port: The port; null: 3000, or the next free one.

    Raises:
        OrchestrationError: The port is in use, or the host cannot be listened on.
    """
    candidates = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if port is None else [port]
    for candidate in candidates:
        if _is_free(host, candidate):
            return Address(host, candidate)
    if port is None:
        raise OrchestrationError(
            f"the ports {candidates[0]} to {candidates[-1]} of {host!r} are in use: name a free "
            "one with --port"
        )
    raise OrchestrationError(
        f"port {port} of {host!r} is in use: stop the program that listens there, or name another "
        "port; without --port a free one is chosen"
    )


def _is_free(host: str, port: int) -> bool:
    try:
        ((family, kind, protocol, _, address), *_) = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        with socket.socket(family, kind, protocol) as probe:
            if os.name == "posix":
                # As the server does: connections that were just closed do not occupy the port.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            # Two sockets may be bound to a port on which neither listens yet.
            probe.listen()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return False
        reason = error.strerror or str(error)
        raise OrchestrationError(f"cannot listen on port {port} of {host!r}: {reason}") from error
    return True


def _in_header(host: str) -> str:
    """Return a host as the Host header writes it: an IPv6 address is in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
