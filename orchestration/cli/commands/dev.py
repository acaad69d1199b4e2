"""`scoreline dev`: open the Dagster interface for this project."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import settings_option

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
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=3000, show_default=True, type=click.IntRange(1, 65535), help="The port."
)
@click.option(
    "--prepare",
    is_flag=True,
    help="Only create the Dagster instance and its partitions, for your own deployment.",
)
@settings_option
def command(host: str, port: int, settings: Settings, *, prepare: bool) -> None:
    """Open the Dagster interface on this project: its assets, checks and runs.

    Runs of `scoreline run` appear there too. Stop it with Ctrl-C. There is no access control: use
    an address that only you can reach.
    """
    from orchestration import instance
    from orchestration.definitions import CONFIG_VARIABLE

    with instance.open_instance(settings.project):
        pass
    if prepare:
        return
    folder = instance.home(settings.project)
    workspace = instance.write_workspace(folder)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(folder),
        CONFIG_VARIABLE: str(settings.file),
    }
    click.echo(f"http://{host}:{port} shows the project; Ctrl-C stops it", err=True)
    arguments = ["dev", "-w", str(workspace), "--host", host, "--port", str(port)]
    # `dagster dev` recommends `dg dev`, which needs another project layout.
    python = [sys.executable, "-W", "ignore:Function `dev_command`"]
    sys.stderr.flush()
    # Replaces this process, so that Dagster receives signals directly.
    os.execve(python[0], [*python, "-m", "dagster", *arguments], environment)  # noqa: S606
