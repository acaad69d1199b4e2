"""`scoreline dev`: the Dagster interface for this project."""

from __future__ import annotations

import os
import sys
from pathlib import Path  # noqa: TC003 - click gives it

import click

from orchestration.cli.options import config_option, debug_option, load


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
@config_option
@debug_option
def command(host: str, port: int, config: Path) -> None:
    """Open the Dagster interface on this project: its assets, checks and runs.

    Runs of `scoreline run` appear there too. Stop it with Ctrl-C. There is no access control: keep
    it to an address that only you can reach.
    """
    settings = load(config)

    from orchestration import instance
    from orchestration.definitions import CONFIG_VARIABLE

    with instance.opened(settings.project):
        pass
    folder = instance.home(settings.project)
    workspace = instance.write_workspace(folder)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(folder),
        CONFIG_VARIABLE: str(settings.file),
    }
    click.echo(f"http://{host}:{port} shows the project; Ctrl-C stops it", err=True)
    arguments = ["dev", "-w", str(workspace), "--host", host, "--port", str(port)]
    # `dagster dev` advises `dg dev`, which wants a project of its own shape.
    python = [sys.executable, "-W", "ignore:Function `dev_command`"]
    sys.stderr.flush()
    # Takes the place of this process, so that signals reach Dagster as they are.
    os.execve(python[0], [*python, "-m", "dagster", *arguments], environment)  # noqa: S606
