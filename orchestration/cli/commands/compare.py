"""`scoreline compare`: two systems, question by question."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click gives it
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import config_option, debug_option, format_option, known, load

if TYPE_CHECKING:
    from orchestration.cli.output import Form

CHANGED = 5
"""The questions that are listed for each metric: those on which the two differ most."""


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
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="`evaluator.metric`, a metric's name, an evaluator, or `all`; may be repeated.  "
    "[default: primary metrics]",
)
@click.option(
    "--slice", "slice_", default="all", show_default=True, metavar="NAME", help="`tag=value`."
)
@format_option
@config_option
@debug_option
def command(
    a: str,
    b: str,
    benchmark: str,
    metrics: tuple[str, ...],
    slice_: str,
    form: Form,
    config: Path,
) -> None:
    """Compare system A with system B on the questions that both have a number for.

    For each metric: the mean difference with its 95 % interval, the p-value adjusted for all pairs
    of systems of the benchmark (Holm), a verdict, and the smallest difference that so many
    questions would show. Then the same in a sentence, and the questions on which the two differ
    most. As CSV or JSON: the rows alone.
    """
    project = load(config).project

    from orchestration import published
    from orchestration.cli import comparison
    from orchestration.cli.output import write_frame

    (name,) = known("benchmark", (benchmark,), list(project.benchmarks))
    if a == b:
        raise click.UsageError(f"{a!r} cannot be compared with itself")
    known("system", (a, b), published.systems(project, name))
    copy = published.copy(project)
    found = comparison.compared(copy, name, a, b, metrics, slice_)
    if form in ("csv", "json"):
        write_frame(found, form)
        return
    part = "" if slice_ == "all" else f", {slice_}"
    write_frame(found.select(comparison.SHOWN), form, f"{a} beside {b} on {name}{part}")
    click.echo()
    for row in found.iter_rows(named=True):
        click.echo(comparison.sentence(row, a, b))
    if any(comparison.rests_on_fewer(row) for row in found.iter_rows(named=True)):
        click.echo(
            "Some questions have a number from one of the two only: a and b are the means of the "
            "leaderboard, and the difference is that on the questions in common."
        )
    for row in found.iter_rows(named=True):
        changed = comparison.most_changed(copy, name, row["metric"], a, b, slice_, CHANGED)
        if changed.height:
            click.echo()
            write_frame(changed, form, f"{row['metric']}: where they differ most")
