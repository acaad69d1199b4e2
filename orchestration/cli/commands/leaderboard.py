"""`scoreline leaderboard`: show the published leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    benchmark_option,
    copy_option,
    format_option,
    names_option,
    require_known,
)

if TYPE_CHECKING:
    import polars as pl

    from orchestration.cli.output import OutputFormat
    from warehouse.publish.snapshot import Snapshot

HELP_ORDER = 4


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
@format_option
@copy_option
def command(
    benchmarks: tuple[str, ...],
    metrics: tuple[str, ...],
    slices: tuple[str, ...],
    output_format: OutputFormat,
    copy: Snapshot,
) -> None:
    """Show the published leaderboard.

    As a table or Markdown: one table per benchmark and slice, with one system per row. As CSV or
    JSON: the rows of the table `leaderboard` with all their columns.
    """
    from assets.charts.sort_order import shown_rows
    from orchestration import published
    from orchestration.cli.leaderboard_table import write_leaderboards
    from orchestration.cli.output import write_frame

    whole = published.load_leaderboard(copy)
    board = filter_leaderboard(whole, benchmarks, metrics, slices or ("all",))
    if output_format in ("csv", "json"):
        write_frame(board, output_format)
        return
    if not metrics:
        board = shown_rows(board)
    if board.is_empty():
        click.echo("no rows", err=True)
    write_leaderboards(board, output_format)
    gates = published.load_gates(copy, board["benchmark"].unique().to_list())
    for message in gates.filter(gates["passed"] == 0)["message"]:
        click.echo(f"gate failed: {message}", err=True)


def filter_leaderboard(
    board: pl.DataFrame,
    benchmarks: tuple[str, ...],
    metrics: tuple[str, ...],
    slices: tuple[str, ...],
) -> pl.DataFrame:
    """Filter the rows of a leaderboard by benchmark, metric and slice.

    Raises:
        UnknownName: A name is not in the leaderboard; the message suggests a similar one.
    """
    import polars as pl

    if benchmarks:
        present = board["benchmark"].unique(maintain_order=True).to_list()
        board = board.filter(
            pl.col("benchmark").is_in(require_known("benchmark", benchmarks, present))
        )
    if metrics and "all" not in metrics:
        address = pl.format("{}.{}", "evaluator", "metric")
        names = [address, pl.col("metric"), pl.col("evaluator")]
        present = [name for each in names for name in board.select(each.unique()).to_series()]
        wanted = require_known("metric", metrics, sorted(set(present)))
        board = board.filter(pl.any_horizontal(name.is_in(wanted) for name in names))
    tag = pl.col("slice").str.split("=").list.first()
    parts = [pl.col("slice"), tag]
    present = [name for each in parts for name in board.select(each.unique()).to_series()]
    wanted = require_known("slice", slices, sorted({*present, "all"}))
    return board.filter(pl.any_horizontal(part.is_in(wanted) for part in parts))
