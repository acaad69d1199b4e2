"""`scoreline doctor`: check everything that a run needs."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click reads the annotation
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import config_option, format_option
from orchestration.cli.program import debug_option

if TYPE_CHECKING:
    from orchestration.cli.output import OutputFormat

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
def command(output_format: OutputFormat, config: Path) -> None:
    """Check everything that a run needs.

    That is the configuration, files, warehouse, judge, models, systems and Dagster instance. Every
    stored reply is checked against its checksum. A judge model gets one small request, which costs
    a few tokens and is recorded like any other; no other data leaves this machine, and nothing else
    is changed. Functions are loaded and programs started, but no system is asked. The exit code is
    1 when a problem prevents a run.
    """
    from orchestration.cli.closed_pipes import outlive_reader
    from orchestration.cli.output import say, write
    from orchestration.doctor.project import diagnose_project

    outlive_reader()
    diagnoses = []
    for diagnosis in diagnose_project(config):
        diagnoses.append(diagnosis)
        if output_format == "table":
            state = click.style(f"{diagnosis.state:4}", fg=COLOURS[diagnosis.state])
            say(
                f"{diagnosis.subject}: {diagnosis.message}",
                indent=" " * 6,
                mark=f"{state}  ",
            )
    if output_format != "table":
        rows = [(each.state, each.subject, each.message) for each in diagnoses]
        write(["state", "subject", "message"], rows, output_format)
    if any(diagnosis.state == "fail" for diagnosis in diagnoses):
        click.get_current_context().exit(1)
