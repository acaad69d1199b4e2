"""Dagster's webserver behind the guard; takes the arguments of `dagster-webserver`.

Dagster has no option for the hosts that its webserver answers to. This changes the one call with
which it gives its application to uvicorn.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from dagster_webserver import cli

from orchestration.webserver.guard import guard
from orchestration.webserver.report import with_report
from orchestration.webserver.serve import HOSTS_VARIABLE, REPORT_VARIABLE, SERVER_VARIABLE

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def main() -> None:
    """Run the webserver."""
    replaceable: Any = uvicorn
    run = replaceable.run
    hosts, server_id = json.loads(os.environ[HOSTS_VARIABLE]), os.environ[SERVER_VARIABLE]
    folder = Path(os.environ[REPORT_VARIABLE])

    def run_guarded(app: ASGIApp, **options: Any) -> None:
        run(guard(with_report(app, folder), hosts, server_id), **options)

    replaceable.run = run_guarded
    start: Any = cli.main
    start()


if __name__ == "__main__":
    main()
