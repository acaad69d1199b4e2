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
  scoreline init demo        in a new folder; then: cd demo && scoreline run
  scoreline init demo --format promptfoo     the example as promptfoo writes it""",
)
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
@click.option(
    "--format",
    "input_format",
    default="canonical",
    show_default=True,
    metavar="NAME",
    help="The format of the example: that of another tool, such as promptfoo or ragas.",
)
@debug_option
def command(folder: Path, input_format: str) -> None:
    """Write a commented scoreline.yaml and a small working example.

    The example has six questions, two systems and a few documents, in Scoreline's own format or in
    that of another tool. A .gitignore keeps the warehouse, reports and keys out of git. Existing
    files are never overwritten.
    """
    from orchestration import starter

    written = starter.write_starter(folder, input_format)
    for path in written:
        echo(f"wrote {path}")
    note = starter.ignore_note(folder)
    if note is not None:
        echo(f"note: {note}", err=True)
    step = "" if folder == Path() else f"cd {folder} && "
    echo(f"Next: {step}scoreline run")
