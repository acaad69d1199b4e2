"""`scoreline sql`: query the published copy."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import format_option, settings_option

if TYPE_CHECKING:
    from orchestration.cli.output import OutputFormat
    from orchestration.config.load import Settings

HELP_ORDER = 7


@click.command(
    "sql",
    epilog="""\b
Examples:
  scoreline sql "SELECT system, mean FROM leaderboard WHERE is_primary"
  scoreline sql "SELECT * FROM scores WHERE value IS NULL" --format csv > missing.csv
  scoreline sql "SHOW TABLES"
  cat query.sql | scoreline sql -""",
)
@click.argument("query")
@format_option
@settings_option
def command(query: str, output_format: OutputFormat, settings: Settings) -> None:
    """Run a QUERY on the published copy.

    A QUERY of `-` is read from standard input. The published copy is a DuckDB file that each run
    replaces. It is opened read-only, and a query cannot access other files or the network.
    """
    text = sys.stdin.read() if query == "-" else query
    if not text.strip():
        raise click.UsageError("the query is empty")
    project = settings.project

    from orchestration import published
    from orchestration.cli.output import write_frame

    write_frame(published.open_copy(project).fetch(text), output_format)
