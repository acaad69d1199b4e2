"""What tests of systems may ask for."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from tests.systems.scripted_system import Asked, ScriptedSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def unused_port() -> int:
    """A port of the loopback without a server."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """Return a function that makes a system and its ledger."""
    return lambda **keys: Asked(tmp_path, ScriptedSystem(**keys), monkeypatch)
