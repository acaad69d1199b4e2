"""`scoreline init`: write a commented configuration and a small working example."""

from __future__ import annotations

from pathlib import Path

import click

from orchestration.cli.output import echo
from orchestration.cli.program import debug_option

HELP_ORDER = 1


@click.command(
    "init",
    epilog="""\b
Examples:
  scoreline init             in this folder
  scoreline init demo        in a new folder; then: cd demo && scoreline run""",
)
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
@debug_option
def command(folder: Path) -> None:
    """Write a commented scoreline.yaml and a small working example.

    The example has six questions, two systems and a few documents. A .gitignore keeps the
    warehouse, reports and keys out of git. Existing files are never overwritten.
    """
    from orchestration import starter

    written = starter.write_starter(folder)
    for path in written:
        echo(f"wrote {path}")
    step = "" if folder == Path() else f"cd {folder} && "
    echo(f"Next: {step}scoreline run")
