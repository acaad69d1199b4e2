"""`scoreline sql`: query the published copy."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import replace
from itertools import chain, islice
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import copy_option, format_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestration.cli.output import OutputFormat
    from warehouse.publish.snapshot import Snapshot

HELP_ORDER = 7

TABLE_ROWS = 1_000
"""The rows of a table that are shown by default."""

COUNT_S = 5.0
"""The seconds for which the other rows are counted."""


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
@click.option(
    "--max-rows",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show at most N rows, 0 for all.  [default: {TABLE_ROWS:,} in a table, otherwise all]",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Cancel a query that computes for longer, 0 for no limit.",
)
@click.option(
    "--memory-limit",
    metavar="SIZE",
    help="The memory for the query, such as 4GB.  [default: memory_limit of the configuration]",
)
@copy_option
def command(
    query: str,
    output_format: OutputFormat,
    max_rows: int | None,
    timeout_s: float,
    memory_limit: str | None,
    copy: Snapshot,
) -> None:
    """Run a QUERY on the published copy.

    A QUERY is one SELECT; `-` reads it from standard input. The published copy is a DuckDB file
    that each run replaces. It is opened read-only, and a query cannot change anything, or access
    other files or the network. Rows are written as they are computed, so a result may be larger
    than the memory.
    """
    text = sys.stdin.read() if query == "-" else query
    if not text.strip():
        raise click.UsageError("the query is empty")

    from orchestration.cli.output import write
    from warehouse.errors import QueryOutOfMemory, QueryTimeout
    from warehouse.publish.stream import stream_query

    if memory_limit is not None:
        copy = replace(copy, memory_limit=_memory_size(memory_limit))
    if max_rows is None and output_format == "table":
        max_rows = TABLE_ROWS
    try:
        with stream_query(copy, text, timeout_s or math.inf) as result:
            rows = chain.from_iterable(result.batches)
            shown = islice(rows, max_rows or None)
            write(result.columns, shown, output_format, numeric=result.numeric)
            sys.stdout.flush()
            if max_rows:
                _report_rest(rows, max_rows)
    except QueryTimeout as error:
        raise QueryTimeout(f"{error}: --timeout SECONDS changes the limit") from error
    except QueryOutOfMemory as error:
        raise QueryOutOfMemory(f"{error}\n--memory-limit SIZE changes the limit") from error


def _memory_size(text: str) -> str:
    from warehouse.storage.memory import parse_memory

    try:
        parse_memory(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint="--memory-limit") from error
    return text


def _report_rest(rows: Iterator[Sequence[object]], shown: int) -> None:
    """Say how many rows were not written; count them for a short time only."""
    deadline = time.monotonic() + COUNT_S
    left, more = 0, ""
    for _ in rows:
        left += 1
        if left % 100_000 == 0 and time.monotonic() > deadline:
            more = "more than "
            break
    if left:
        echo(
            f"{shown:,} rows shown, {more}{left:,} left out: --max-rows N shows more, 0 all",
            err=True,
        )
