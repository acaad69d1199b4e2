"""`scoreline problems`: list the published problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    benchmark_option,
    copy_option,
    evaluator_option,
    format_option,
    rows_named,
    system_option,
)
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from orchestration.cli.output import OutputFormat
    from warehouse.publish.snapshot import Snapshot

HELP_ORDER = 5

COLUMNS = ("severity", "benchmark", "system", "evaluator", "message")


@click.command(
    "problems",
    epilog="""\b
Examples:
  scoreline problems
  scoreline problems --benchmark support --system new --severity high
  scoreline problems --format json""",
)
@benchmark_option
@system_option
@evaluator_option
@click.option(
    "--severity",
    "severities",
    type=click.Choice(["high", "medium", "low"]),
    multiple=True,
    help="Only this severity; may be repeated.",
)
@format_option
@copy_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    severities: tuple[str, ...],
    output_format: OutputFormat,
    copy: Snapshot,
) -> None:
    """List the published problems, the worst first.

    A problem is a reason to look at answers or to doubt a number: a mean below its threshold,
    failed answers, failures of the judge, systems that cannot be compared.
    """
    from orchestration.cli.output import write
    from orchestration.published import WORST_FIRST, among

    with copy.open() as opened:
        conditions = [
            rows_named(opened, "leaderboard", "benchmark", benchmarks),
            rows_named(opened, "leaderboard", "system", systems),
            rows_named(opened, "leaderboard", "evaluator", evaluators),
        ]
        if severities:
            conditions.append(among("severity", severities))
        rows = opened.fetch_rows(
            f"SELECT {', '.join(COLUMNS)} FROM v_problems "  # noqa: S608
            f"WHERE {' AND '.join(conditions)} ORDER BY {WORST_FIRST}, benchmark"
        )
    if not rows:
        echo("no problems", err=True)
        if output_format in ("table", "md"):
            return
    write(COLUMNS, [tuple(row.values()) for row in rows], output_format)
