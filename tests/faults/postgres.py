"""A PostgreSQL of a test's own, which may be stopped: with a password, on a port of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.orchestration.daemon import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "a pass'word of its own"  # noqa: S105 - of a server that lives as long as a test


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        folder: Everything of it.
        port: Where it listens.
    """

    folder: Path
    port: int

    @property
    def catalog(self) -> str:
        """Its database, as a lake's place names it."""
        return f"dbname=postgres host=127.0.0.1 port={self.port} user=scoreline"

    def restart(self) -> None:
        """Break all connections off and be there again, as after an upgrade of the server."""
        self._control("restart", "--mode", "fast")

    def start(self) -> None:
        """Begin to listen."""
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        self._control("start", "-o", options)

    def stop(self) -> None:
        """Go away."""
        self._control("stop", "--mode", "immediate")

    def _control(self, *arguments: str) -> None:
        data, log = str(self.folder / "data"), str(self.folder / "log")
        _run("pg_ctl", "--pgdata", data, "--log", log, "--wait", *arguments)


@contextmanager
def server() -> Iterator[Server]:
    """A server with one user, `scoreline`, whose password is `PASSWORD`."""
    folder = Path(tempfile.mkdtemp(prefix="scoreline-postgres-"))
    try:
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
            shutil.chown(secret, "postgres")
        made = Server(folder, free_port())
        whose = ["--username", "scoreline", "--pwfile", str(secret), "--auth", "scram-sha-256"]
        _run("initdb", "--pgdata", str(folder / "data"), "--no-sync", *whose)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(program: str, *arguments: str) -> None:
    found = shutil.which(program) or _installed(program)
    # PostgreSQL refuses to work for root.
    other = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*other, found, *arguments], check=False, capture_output=True, text=True, cwd="/"
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _installed(program: str) -> str:
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))
    if not places:
        pytest.fail(f"{program!r} is not installed: it belongs to PostgreSQL's server")
    return str(places[-1])
