"""`scoreline dev`: open the Dagster interface for this project."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import address_options, settings_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from orchestration.config.load import Settings


@click.command(
    "dev",
    epilog="""\b
Examples:
  scoreline dev
  scoreline dev --port 3001
  scoreline dev --config examples/scoreline.yaml""",
)
@address_options
@click.option(
    "--prepare",
    is_flag=True,
    help="Only create the Dagster instance and its partitions, for your own deployment.",
)
@settings_option
def command(
    host: str, port: int | None, names: tuple[str, ...], settings: Settings, *, prepare: bool
) -> None:
    """Open the Dagster interface on this project: its assets, checks and runs.

    Runs of `scoreline run` appear there too. Stop it with Ctrl-C. There is no access control: use
    an address that only you can reach. Only requests to localhost and to the given names are
    answered, so that a page of another site cannot use the interface through your browser.
    """
    from orchestration import instance, interrupts
    from orchestration.definitions import CONFIG_VARIABLE
    from orchestration.webserver import serve
    from orchestration.webserver.address import DEFAULT_PORT, choose_address

    if prepare:
        with instance.open_instance(settings.project):
            return
    address = choose_address(host, port)
    if port is None and address.port != DEFAULT_PORT:
        echo(f"port {DEFAULT_PORT} is in use: port {address.port} is used instead", err=True)
    with instance.open_instance(settings.project):
        pass
    folder = instance.home(settings.project)
    workspace = instance.write_workspace(folder)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(folder),
        CONFIG_VARIABLE: str(settings.file),
        serve.HOSTS_VARIABLE: json.dumps(address.allowed_hosts(names)),
        serve.REPORT_VARIABLE: str(settings.project.publish),
    }
    arguments = [address.host, str(address.port), str(workspace)]
    # `dagster dev` recommends `dg dev`, which needs another project layout.
    python = [sys.executable, "-W", "ignore:Function `dev_command`"]
    sys.stderr.flush()
    # Replaces this process, so that Dagster receives signals directly. A signal waits until the
    # program handles it: before that, Python would end with a traceback.
    interrupts.block()
    os.execve(python[0], [*python, "-m", serve.__name__, *arguments], environment)  # noqa: S606
