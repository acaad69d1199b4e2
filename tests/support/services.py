"""PostgreSQL on loopback, for tests that need it."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIRED = os.environ.get("SCORELINE_REQUIRE_SERVICES") == "1"
takes_minutes = pytest.mark.skipif(
    not REQUIRED, reason="takes long: SCORELINE_REQUIRE_SERVICES=1 runs it"
)

NIGHTLY = os.environ.get("SCORELINE_NIGHTLY") == "1"
takes_longest = pytest.mark.skipif(
    not NIGHTLY, reason="takes longest, and shorter tests show the same in parts: .ci/nightly"
)


def skip_models() -> None:
    """Skip a test that loads PyTorch, unless the tests that take long are run."""
    if not REQUIRED:
        pytest.skip("loads PyTorch, which takes seconds: SCORELINE_REQUIRE_SERVICES=1 runs it")


POSTGRES = {"host": "127.0.0.1", "port": "5432", "user": "postgres"}


def require(what: str, port: int) -> None:
    """Skip the test where nothing listens; fail where services were promised."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=2).close()
    except OSError:
        missing = f"{what} does not listen on 127.0.0.1:{port}"
        if REQUIRED:
            pytest.fail(missing)
        pytest.skip(missing)


@contextmanager
def database() -> Iterator[str]:
    """The name of a PostgreSQL database of one's own, dropped at the end."""
    require("PostgreSQL", 5432)
    name = f"scoreline_{uuid4().hex[:12]}"
    _psql(f'CREATE DATABASE "{name}"')
    try:
        yield name
    finally:
        _psql(f'DROP DATABASE "{name}" WITH (FORCE)')


def _psql(statement: str) -> None:
    where = ["--host", POSTGRES["host"], "--port", POSTGRES["port"], "--username", POSTGRES["user"]]
    subprocess.run(
        ["psql", "--quiet", *where, "--command", statement], check=True, capture_output=True
    )
