"""`scoreline leaderboard`: the published leaderboard."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click gives it
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    benchmark_option,
    config_option,
    debug_option,
    format_option,
    known,
    load,
)

if TYPE_CHECKING:
    import polars as pl

    from orchestration.cli.output import Form


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
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="`evaluator.metric`, a metric's name, an evaluator, or `all`; may be repeated.  "
    "[default: primary metrics; with csv and json all]",
)
@click.option(
    "--slice",
    "slices",
    multiple=True,
    metavar="NAME",
    help="`tag=value`, or a tag for all its values; may be repeated.  [default: all questions]",
)
@format_option
@config_option
@debug_option
def command(
    benchmarks: tuple[str, ...],
    metrics: tuple[str, ...],
    slices: tuple[str, ...],
    form: Form,
    config: Path,
) -> None:
    """Show the published leaderboard.

    As a table or Markdown: one table for each benchmark and slice, with one system in each row. As
    CSV or JSON: the rows of the table `leaderboard` with all their counts and bounds.
    """
    project = load(config).project

    from orchestration import published
    from orchestration.cli.leaderboard_table import write_boards
    from orchestration.cli.output import write_frame

    whole = published.leaderboard(project)
    board = narrowed(whole, benchmarks, metrics, slices or ("all",))
    if form in ("csv", "json"):
        write_frame(board, form)
        return
    if not metrics:
        board = board.filter(board["is_primary"].cast(bool))
    if board.is_empty():
        click.echo("no rows", err=True)
    write_boards(board, form)


def narrowed(
    board: pl.DataFrame,
    benchmarks: tuple[str, ...],
    metrics: tuple[str, ...],
    slices: tuple[str, ...],
) -> pl.DataFrame:
    """The rows of a leaderboard that were asked for.

    Raises:
        UnknownName: A name stands nowhere in the leaderboard; a near one is suggested.
    """
    import polars as pl

    if benchmarks:
        present = board["benchmark"].unique(maintain_order=True).to_list()
        board = board.filter(pl.col("benchmark").is_in(known("benchmark", benchmarks, present)))
    if metrics and "all" not in metrics:
        address = pl.format("{}.{}", "evaluator", "metric")
        names = [address, pl.col("metric"), pl.col("evaluator")]
        present = [name for each in names for name in board.select(each.unique()).to_series()]
        wanted = known("metric", metrics, sorted(set(present)))
        board = board.filter(pl.any_horizontal(name.is_in(wanted) for name in names))
    tag = pl.col("slice").str.split("=").list.first()
    parts = [pl.col("slice"), tag]
    present = [name for each in parts for name in board.select(each.unique()).to_series()]
    wanted = known("slice", slices, sorted({*present, "all"}))
    return board.filter(pl.any_horizontal(part.is_in(wanted) for part in parts))
