"""`dagster dev` with the guarded webserver, as a process of its own.

`dagster dev` starts the code server, the daemon and the webserver, and stops them together. Only
the module of the webserver is replaced. Whether that worked, and who answers on the port, is seen
by a request: every reply of the guarded webserver carries the random name of its server.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from orchestration import interrupts
from orchestration.webserver.address import Address
from orchestration.webserver.guard import SERVER_HEADER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from subprocess import Popen

HOSTS_VARIABLE = "SCORELINE_ALLOWED_HOSTS"
"""The environment variable with the hosts that requests may name, a JSON list."""

REPORT_VARIABLE = "SCORELINE_REPORT"
"""The environment variable with the folder of the report."""

SERVER_VARIABLE = "SCORELINE_SERVER_ID"
"""The environment variable with the random name of the server."""

DAGSTER_MODULE, GUARDED_MODULE = "dagster_webserver", __package__
FAILED = 2
_PAUSE_S = 0.2
_REPLY_S = 5.0


class Webserver:
    """The webserver of a `dagster dev` in this process."""

    def __init__(self, address: Address) -> None:
        """Name the address at which it will listen."""
        self.address = address
        self.id = uuid4().hex
        self.error: str | None = None
        """Why it does not serve the project; null if it does or is not ready yet."""

    def run_dagster(self, workspace: str) -> None:
        """Run `dagster dev`, which starts the webserver, until it is interrupted."""
        # Any: its types name neither what it imports nor that this may be replaced.
        dev: Any = importlib.import_module("dagster._cli.dev")
        os.environ[SERVER_VARIABLE] = self.id
        start = dev.open_ipc_subprocess

        def start_service(command: Sequence[str], **options: Any) -> Popen[Any]:
            return self.start(start, command, **options)

        dev.open_ipc_subprocess = start_service
        host, port = self.address.host, str(self.address.port)
        dev.dev_command(["--workspace", workspace, "--host", host, "--port", port])

    def start(self, start: Any, command: Sequence[str], **options: Any) -> Popen[Any]:
        """Start one of the services of `dagster dev`; the webserver behind the guard."""
        if DAGSTER_MODULE not in command:
            return start(command, **options)  # type: ignore[no-any-return]
        guarded = [GUARDED_MODULE if part == DAGSTER_MODULE else part for part in command]
        process: Popen[Any] = start(guarded, **options)
        threading.Thread(target=self._announce, args=[process], daemon=True).start()
        return process

    def _announce(self, process: Popen[Any]) -> None:
        """Say that the interface is ready once it answers; stop everything if another one does."""
        while (answering := self._answering_server()) is None:
            if process.poll() is not None:
                self._fail("the webserver ended before it answered")
                return
            time.sleep(_PAUSE_S)
        if answering == self.id:
            click.echo(f"{self.address.url} shows the project; Ctrl-C stops it", err=True)
        else:
            self._fail(f"another program answers at {self.address.url}: name another port")

    def _fail(self, reason: str) -> None:
        self.error = reason
        os.kill(os.getpid(), signal.SIGINT)

    def _answering_server(self) -> str | None:
        """Return which server answers; empty for another program, null for none yet."""
        connection = HTTPConnection(self.address.connectable, self.address.port, timeout=_REPLY_S)
        try:
            connection.request("GET", "/server_info")
            reply = connection.getresponse()
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()
        server = reply.headers.get(SERVER_HEADER, "")
        is_ready = server != self.id or reply.status == 200  # noqa: PLR2004
        return server if is_ready else None


def main(host: str, port: str, workspace: str) -> None:
    """Run `dagster dev` until it is interrupted, and exit with 2 if its webserver fails."""
    interrupts.install()
    webserver = Webserver(Address(host, int(port)))
    with suppress(SystemExit, KeyboardInterrupt):
        # `scoreline dev` blocked them before it became this program.
        interrupts.unblock()
        webserver.run_dagster(workspace)
    if webserver.error is not None:
        click.echo(f"error: {webserver.error}", err=True)
        sys.exit(FAILED)
    number = interrupts.received_signal()
    if number is not None:
        sys.exit(interrupts.exit_code(number))


if __name__ == "__main__":
    main(*sys.argv[1:])
