"""`scoreline clean`: remove data that no result is computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import require_known, settings_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from assets.project import Project
    from orchestration.config.load import Settings


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
    "--yes/--dry-run",
    "carry_out",
    default=False,
    help="Remove, or only list what is removable.  [default: --dry-run]",
)
@click.option(
    "--older-than",
    "days",
    type=click.FloatRange(min=0),
    default=90.0,
    show_default=True,
    metavar="DAYS",
    help="Only what is older.",
)
@settings_option
def command(names: tuple[str, ...], carry_out: bool, days: float, settings: Settings) -> None:  # noqa: FBT001
    """List what can be removed, and remove it with --yes.

    Without names: temporary files of killed processes, old history, results of expectations, runs
    and free space in the warehouse; in a lake also old snapshots and unused files. Judgments,
    encodings and backups cost money or time to create again and are removed only by name. Scores,
    leaderboards and their inputs always stay, and so do calls without a usable reply that scores
    rest on: `scoreline run --retry` makes these again.
    """
    from orchestration.cleanup import NAMES, clean, find_items

    project = settings.project
    wanted = require_known("removable item", names, list(NAMES))
    if not carry_out:
        found = [item for item in find_items(project, days) if not wanted or item.name in wanted]
        for item in found:
            note = " (removed only by name)" if item.only_by_name else ""
            echo(f"{item.name}: {item.amount}, {item.description}{note}")
        note = "nothing was removed: use --yes" if found else "nothing to clean"
        echo(note, err=True)
        _note_failed_calls(project, wanted)
        return
    removed = 0
    for item in clean(project, wanted, days):
        removed += 1
        echo(f"removed {item.name}: {item.amount}")
    if not removed:
        echo("nothing to clean", err=True)
        _note_failed_calls(project, wanted)


def _note_failed_calls(project: Project, wanted: tuple[str, ...]) -> None:
    """Say how calls without a usable reply are made again: scores rest on them, so they stay."""
    from warehouse.queries.failed_calls import count_failed_verdicts

    warehouse = project.open_warehouse()
    if "judgments" not in wanted or not warehouse.exists():
        return
    failed = count_failed_verdicts(warehouse, list(project.benchmarks))
    if failed:
        echo(
            f"{failed:,} judge calls in use have no usable reply: `scoreline run --retry` makes "
            "them again",
            err=True,
        )
