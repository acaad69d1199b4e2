"""`scoreline compare`: compare two systems question by question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import format_option, names_option, require_known, settings_option

if TYPE_CHECKING:
    from orchestration.cli.output import OutputFormat
    from orchestration.config.load import Settings

MAX_QUESTIONS = 5
"""How many questions are listed per metric, the largest differences first."""

HELP_ORDER = 5


@click.command(
    "compare",
    epilog="""\b
Examples:
  scoreline compare new old --benchmark support
  scoreline compare new old --benchmark support --metric citation.f1 --slice topic=billing
  scoreline compare new old --benchmark support --metric all --format json""",
)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--benchmark", required=True, metavar="NAME", help="The benchmark.")
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
    a: str,
    b: str,
    benchmark: str,
    metrics: tuple[str, ...],
    slice_: str,
    output_format: OutputFormat,
    settings: Settings,
) -> None:
    """Compare the systems A and B question by question.

    Only questions for which both systems have a score count. For each metric: the mean difference
    with its 95 % confidence interval, the p-value adjusted for all pairs of systems in the
    benchmark (Holm), a verdict, and the smallest difference that this number of questions can
    detect. Then the result in a sentence, and the questions with the largest differences. As CSV or
    JSON: only the rows.
    """
    project = settings.project

    from orchestration import published
    from orchestration.cli import comparison
    from orchestration.cli.output import write_frame

    (name,) = require_known("benchmark", (benchmark,), list(project.benchmarks))
    if a == b:
        raise click.UsageError(f"{a!r} cannot be compared with itself")
    require_known("system", (a, b), published.load_systems(project, name))
    copy = published.open_copy(project)
    rows = comparison.compare_systems(copy, project.benchmarks[name], a, b, metrics, slice_)
    if output_format in ("csv", "json"):
        write_frame(rows, output_format)
        return
    part = "" if slice_ == "all" else f", {slice_}"
    write_frame(rows.select(comparison.COLUMNS), output_format, f"{a} and {b} on {name}{part}")
    click.echo()
    for row in rows.iter_rows(named=True):
        click.echo(comparison.describe_comparison(row, a, b))
    if any(comparison.uses_fewer_questions(row) for row in rows.iter_rows(named=True)):
        click.echo(
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
