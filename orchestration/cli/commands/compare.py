"""`scoreline compare`: compare systems question by question."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    format_option,
    names_option,
    one_benchmark_option,
    require_benchmark,
    require_known,
    settings_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from assets.project import Benchmark
    from orchestration.cli.output import OutputFormat
    from orchestration.config.load import Settings
    from warehouse.publish.snapshot import Snapshot

MAX_REASONS = 3
"""How many pairs without a common score are named."""

MAX_QUESTIONS = 5
"""How many questions are listed per metric, the largest differences first."""

HELP_ORDER = 5


@click.command(
    "compare",
    epilog="""\b
Examples:
  scoreline compare
  scoreline compare new old --benchmark support
  scoreline compare new old --benchmark support --metric citation.f1 --slice topic=billing
  scoreline compare new old --benchmark support --metric all --format json""",
)
@click.argument("systems", metavar="[SYSTEM SYSTEM...]", nargs=-1)
@one_benchmark_option
@names_option(
    "metric",
    "`evaluator.metric`, a metric's name, an evaluator, or `all`; may be repeated.  "
    "[default: primary metrics]",
)
@click.option(
    "--slice", "slice_", default="all", show_default=True, metavar="NAME", help="`tag=value`."
)
@format_option
@settings_option
def command(
    systems: tuple[str, ...],
    benchmark: str | None,
    metrics: tuple[str, ...],
    slice_: str,
    output_format: OutputFormat,
    settings: Settings,
) -> None:
    """Compare systems question by question: two, each pair of several, or every pair.

    Only questions for which both systems have a score count. For each metric: the mean difference
    with its 95 % confidence interval, the p-value adjusted for all pairs of systems in the
    benchmark (Holm), a verdict, and the smallest difference that this number of questions can
    detect. Of two systems also the result in a sentence, and the questions with the largest
    differences. As CSV or JSON: only the rows.
    """
    from orchestration import published
    from orchestration.cli import comparison
    from orchestration.cli.output import write_frame

    project = settings.project
    name = require_benchmark(project, benchmark)
    chosen = project.benchmarks[name]
    copy = published.open_copy(project)
    known = published.load_systems(project, name)
    compared = require_known("system", systems, known) if systems else known
    if len(compared) == 1:
        raise click.UsageError(f"{compared[0]!r} cannot be compared with itself")
    part = "" if slice_ == "all" else f", {slice_}"
    if len(compared) == 2:  # noqa: PLR2004 - two systems
        _write_pair(copy, chosen, compared, metrics, slice_, output_format)
        return
    rows = _compare_pairs(copy, chosen, compared, metrics, slice_)
    write_frame(rows, output_format, f"{name}{part}", comparison.OPTIONAL)


def _compare_pairs(
    copy: Snapshot,
    benchmark: Benchmark,
    systems: Sequence[str],
    metrics: tuple[str, ...],
    slice_: str,
) -> pl.DataFrame:
    """Return the comparisons of all pairs of systems.

    Raises:
        NotComparable: No two of the systems have a score in common.
    """
    import polars as pl

    from orchestration.cli import comparison

    found, reasons = [], []
    for a, b in combinations(systems, 2):
        try:
            rows = comparison.compare_systems(copy, benchmark, a, b, metrics, slice_)
        except comparison.NotComparable as error:
            reasons.append(error)
            continue
        named = rows.select(pl.lit(a).alias("system_a"), pl.lit(b).alias("system_b"), "metric")
        found.append(named.hstack(rows.select(comparison.COLUMNS[1:])))
    for reason in reasons[:MAX_REASONS]:
        click.echo(f"note: {reason}", err=True)
    if len(reasons) > MAX_REASONS:
        click.echo(f"note: and {len(reasons) - MAX_REASONS} more pairs", err=True)
    if not found:
        raise comparison.NotComparable("no two systems have a score in common")
    return pl.concat(found)


def _write_pair(
    copy: Snapshot,
    benchmark: Benchmark,
    systems: Sequence[str],
    metrics: tuple[str, ...],
    slice_: str,
    output_format: OutputFormat,
) -> None:
    from orchestration.cli import comparison
    from orchestration.cli.output import say, write_frame

    a, b = systems
    name = benchmark.name
    rows = comparison.compare_systems(copy, benchmark, a, b, metrics, slice_)
    if output_format in ("csv", "json"):
        write_frame(rows, output_format)
        return
    part = "" if slice_ == "all" else f", {slice_}"
    table, title = rows.select(comparison.COLUMNS), f"{a} and {b} on {name}{part}"
    write_frame(table, output_format, title, comparison.OPTIONAL)
    click.echo()
    largest_possible = comparison.largest_possible(benchmark)
    for row in rows.iter_rows(named=True):
        sentence = comparison.describe_comparison(row, a, b, largest_possible.get(row["metric"]))
        say(sentence, indent="  ")
    if any(comparison.uses_fewer_questions(row) for row in rows.iter_rows(named=True)):
        say(
            "Some questions have a score for only one of the two systems: a and b are the means of "
            "the leaderboard, and the difference is over the common questions."
        )
    for row in rows.iter_rows(named=True):
        largest = comparison.largest_differences(
            copy, name, row["metric"], a, b, slice_, MAX_QUESTIONS
        )
        if largest.height:
            click.echo()
            write_frame(largest, output_format, f"{row['metric']}: largest differences")
