"""`scoreline report`: where the report is, or the report in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import copy_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from warehouse.publish.snapshot import Snapshot


@click.command("report")
@click.option("--open", "in_browser", is_flag=True, help="Open it in the default browser.")
@copy_option
def command(in_browser: bool, copy: Snapshot) -> None:  # noqa: FBT001 - a flag
    """Print the address of the report, or open it."""
    from assets.project import REPORT_FILE
    from orchestration.errors import OrchestrationError

    page = copy.path.parent.absolute() / REPORT_FILE
    if not page.is_file():
        raise OrchestrationError(f"there is no report {str(page)!r}: run `scoreline run` first")
    echo(page.as_uri())
    if in_browser and click.launch(page.as_uri()):
        raise OrchestrationError("no browser could be started")
