"""`scoreline clean`: be rid of what nothing is made from any more."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click gives it

import click

from orchestration.cli.options import config_option, debug_option, known, load


@click.command(
    "clean",
    epilog="""\b
Examples:
  scoreline clean
  scoreline clean --yes
  scoreline clean --older-than 30 --yes
  scoreline clean judgments --yes""",
)
@click.argument("names", nargs=-1, metavar="[WHAT]...")
@click.option(
    "--yes/--dry-run", "carry_out", default=False, help="Do it; otherwise it is only said."
)
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    default=90.0,
    show_default=True,
    metavar="DAYS",
    help="How old something must be.",
)
@config_option
@debug_option
def command(names: tuple[str, ...], carry_out: bool, days: float, config: Path) -> None:  # noqa: FBT001
    """Say what may be cleaned away, and do it with --yes.

    Old history, results of expectations, runs, and free space in the warehouse go when nothing is
    named; of a lake also its earlier states (snapshots) and files that it can do without. What was
    paid for or takes long to make again (judgments, encodings, backups) goes only when it is named.
    Scores, leaderboards and what they are made from never go.
    """
    from orchestration.cleanup import NAMES, clean, items

    project = load(config).project
    wanted = known("thing to clean", names, list(NAMES))
    if not carry_out:
        found = [item for item in items(project, days) if not wanted or item.name in wanted]
        for item in found:
            asked = " (only when it is named)" if item.only_when_asked else ""
            click.echo(f"{item.name}: {item.amount}, {item.what}{asked}")
        click.echo("nothing was removed: --yes does" if found else "nothing to clean", err=True)
        return
    removed = 0
    for item in clean(project, wanted, days):
        removed += 1
        click.echo(f"removed {item.name}: {item.amount}")
    if not removed:
        click.echo("nothing to clean", err=True)
