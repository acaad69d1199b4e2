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
from orchestration.cli.output import echo

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

MAX_CHARACTERS = 60
"""How much of an answer is shown."""

HELP_ORDER = 5


@click.command(
    "compare",
    epilog="""\b
Examples:
  scoreline compare
  scoreline compare new old --benchmark support
  scoreline compare new old --benchmark support --metric citation.f1 --slice topic=billing
  scoreline compare new old --benchmark support --metric all --format json
  scoreline compare --before v1.2 --benchmark support
  scoreline compare new --before 2026-11-30 --metric citation.f1""",
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
@click.option(
    "--before",
    metavar="RUN|DATE|TAG",
    help="Compare each system with itself in an earlier publication, see `scoreline history`.",
)
@format_option
@settings_option
def command(
    systems: tuple[str, ...],
    benchmark: str | None,
    metrics: tuple[str, ...],
    slice_: str,
    before: str | None,
    output_format: OutputFormat,
    settings: Settings,
) -> None:
    """Compare systems question by question: two, each pair of several, or every pair.

    Only questions for which both systems have a score count. For each metric: the mean difference
    with its 95 % confidence interval, the p-value adjusted for all pairs of systems in the
    benchmark (Holm), a verdict, and the smallest difference that this number of questions can
    detect. Of two systems also the result in a sentence, and the questions with the largest
    differences. As CSV or JSON: only the rows.

    With --before: what has changed since a publication, of the named systems or of all. Only
    questions that are the same as then count. A date stands for the last publication up to the end
    of that day, other than the present one.
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
    if before is not None:
        if slice_ != "all":
            raise click.UsageError("--before compares all questions: leave out --slice")
        _write_changes(copy, chosen, before, systems, metrics, output_format)
        return
    if len(known) == 1:
        said = f"{name} has only one system, {known[0]!r}"
        raise click.UsageError(f"{said}; --before compares it with an earlier publication")
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
        echo(f"note: {reason}", err=True)
    if len(reasons) > MAX_REASONS:
        echo(f"note: and {len(reasons) - MAX_REASONS} more pairs", err=True)
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
    echo()
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
            echo()
            write_frame(largest, output_format, f"{row['metric']}: largest differences")


def _write_changes(
    copy: Snapshot,
    benchmark: Benchmark,
    before: str,
    systems: tuple[str, ...],
    metrics: tuple[str, ...],
    output_format: OutputFormat,
) -> None:
    """Write what has changed since a publication.

    Raises:
        UnknownPublication: There is no such publication.
        NotKept: Its scores are not kept.
        NotComparable: No metric of the systems can be compared.
    """
    import polars as pl

    from assets.analysis.compare_publication import compare_publication
    from assets.analysis.publications import find_publication
    from orchestration.cli import comparison
    from orchestration.cli.output import say, write_frame

    publication = find_publication(copy, before)
    addresses = comparison.metric_addresses(copy, benchmark.name, metrics)
    found = compare_publication(copy, benchmark, publication, systems, addresses)
    rows = comparison.changed_rows(found)
    for note in found.notes:
        echo(f"note: {note}", err=True)
    if rows["reason"].is_not_null().all():
        raise comparison.NotComparable(
            comparison.describe_refusal(rows, benchmark.name, str(publication))
        )
    if output_format in ("csv", "json"):
        write_frame(rows, output_format)
        return
    title = f"{benchmark.name}: now and {publication}"
    write_frame(rows.select(comparison.CHANGE_COLUMNS), output_format, title, comparison.OPTIONAL)
    echo()
    for row in rows.iter_rows(named=True):
        say(comparison.describe_change(row), indent="  ")
    for row in rows.filter(pl.col("questions").list.len() > 0).iter_rows(named=True):
        echo()
        shown = pl.DataFrame(row["questions"][:MAX_QUESTIONS]).with_columns(
            pl.col("^answer_.*$").str.slice(0, MAX_CHARACTERS)
        )
        heading = f"{row['system']}, {row['metric']}: {comparison.describe_flips(row)}"
        if len(row["questions"]) > shown.height:
            heading += f"; {shown.height} of {len(row['questions'])} shown, --format json has all"
        write_frame(shown, output_format, heading)
