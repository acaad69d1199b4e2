"""`scoreline doctor`: is everything there that a run needs?"""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click gives it
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import config_option, debug_option, format_option

if TYPE_CHECKING:
    from orchestration.cli.output import Form

COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command(
    "doctor",
    epilog="""\b
Examples:
  scoreline doctor
  scoreline doctor --config other/scoreline.yaml
  scoreline doctor --format json""",
)
@format_option
@config_option
@debug_option
def command(form: Form, config: Path) -> None:
    """Check configuration, files, warehouse, judge and Dagster instance; say what to do.

    Nothing is changed. A judge model gets one small request, which costs a few tokens; nothing else
    is sent anywhere. The exit code is 1 when something is in the way of a run.
    """
    from orchestration.cli.output import write
    from orchestration.doctor.project import examine

    findings = []
    for finding in examine(config):
        findings.append(finding)
        if form == "table":
            state = click.style(f"{finding.state:4}", fg=COLOURS[finding.state])
            click.echo(f"{state}  {finding.subject}: {finding.message}")
    if form != "table":
        rows = [(f.state, f.subject, f.message) for f in findings]
        write(["state", "subject", "message"], rows, form)
    if any(finding.state == "fail" for finding in findings):
        click.get_current_context().exit(1)
