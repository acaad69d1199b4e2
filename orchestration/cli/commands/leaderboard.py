"""`scoreline leaderboard`: show the published leaderboard."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    METRIC_NAMES,
    benchmark_option,
    copy_option,
    format_option,
    names_option,
    rows_named,
)
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from orchestration.cli.output import OutputFormat
    from warehouse.publish.snapshot import Snapshot

HELP_ORDER = 4

SLICE_NAMES = ("slice", "split_part(slice, '=', 1)")
"""The SQL of the names by which slices can be given."""


@click.command(
    "leaderboard",
    epilog="""\b
Examples:
  scoreline leaderboard
  scoreline leaderboard --benchmark support --metric citation.f1
  scoreline leaderboard --metric citation --slice question_type
  scoreline leaderboard --format json | jq '.[] | select(.is_primary == 1)'""",
)
@benchmark_option
@names_option(
    "metric",
    "`evaluator.metric`, a metric's name, an evaluator, or `all`; may be repeated.  "
    "[default: primary metrics; with csv and json all]",
)
@names_option(
    "slice",
    "`tag=value`, or a tag for all its values; may be repeated.  [default: all questions]",
)
@click.option(
    "--percent",
    is_flag=True,
    help="Show rates, metrics from 0 to 1, in percent; with table and md.",
)
@format_option
@copy_option
def command(
    benchmarks: tuple[str, ...],
    metrics: tuple[str, ...],
    slices: tuple[str, ...],
    output_format: OutputFormat,
    copy: Snapshot,
    *,
    percent: bool,
) -> None:
    """Show the published leaderboard.

    As a table or Markdown: one table per benchmark and slice, with one system per row. As CSV or
    JSON: the rows of the table `leaderboard` with all their columns.
    """
    from orchestration import published
    from orchestration.cli.leaderboard_table import in_percent, write_leaderboards
    from orchestration.cli.output import write
    from warehouse.publish.stream import stream_query

    if percent and output_format in ("csv", "json"):
        message = f"--percent cannot be combined with --format {output_format}, which has "
        raise click.UsageError(f"{message}the stored values")
    with copy.open() as opened:
        metrics_named = () if "all" in metrics else metrics
        conditions = [
            rows_named(opened, "leaderboard", "benchmark", benchmarks),
            rows_named(opened, "leaderboard", "metric", metrics_named, METRIC_NAMES),
            rows_named(opened, "leaderboard", "slice", slices, SLICE_NAMES)
            if slices
            else "slice = 'all'",
        ]
        condition = " AND ".join(conditions)
        if output_format in ("table", "md"):
            shown = condition if metrics else f"{condition} AND {published.SHOWN}"
            board = opened.fetch_rows(published.select_leaderboard(shown))
            gates = published.load_gates(opened, {row["benchmark"] for row in board})
    if output_format in ("csv", "json"):
        with stream_query(copy, published.select_leaderboard(condition)) as result:
            write(result.columns, chain.from_iterable(result.batches), output_format)
        return
    if not board:
        echo("no rows", err=True)
    write_leaderboards(map(in_percent, board) if percent else board, output_format)
    for gate in gates:
        if gate["passed"] == 0:
            echo(f"gate failed: {gate['message']}", err=True)
