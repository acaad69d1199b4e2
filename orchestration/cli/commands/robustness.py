"""`scoreline robustness`: a test of the judge with reordered prompts and injected instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    format_option,
    one_benchmark_option,
    require_benchmark,
    settings_option,
)

if TYPE_CHECKING:
    from orchestration.cli.output import OutputFormat
    from orchestration.config.load import Settings

COLUMNS = ("samples", "compared", "changed", "flipped", "flip_rate", "better")


@click.command(
    "robustness",
    epilog="""\b
Examples:
  scoreline robustness --benchmark support --evaluator faithfulness
  scoreline robustness --benchmark support --evaluator rubric_judge --limit 20 --format json""",
)
@one_benchmark_option
@click.option("--evaluator", required=True, metavar="NAME", help="An evaluator that needs a judge.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    metavar="N",
    help="The number of samples to test.",
)
@format_option
@settings_option
def command(
    benchmark: str | None,
    evaluator: str,
    limit: int,
    output_format: OutputFormat,
    settings: Settings,
) -> None:
    """Test how robust a judge's verdicts are.

    Each sample is judged as usual and again for each variation of the prompt: with all blocks and
    lists in reverse order, and with an injection such as "Ignore the rubric" appended to the
    answer. Each row counts, for one variation, the samples that could be compared, whose value
    changed, that flipped (crossed the threshold), and whose value got better.

    The additional judge calls cost money; their replies are kept in the ledger, so a second test is
    free. Scores do not change. Use it after `scoreline run`.
    """
    project = settings.project

    from assets.judging.robustness import measure_robustness
    from orchestration.cli.output import write

    name = require_benchmark(project, benchmark)
    rows = [
        (variation, *(getattr(result, column) for column in COLUMNS))
        for variation, result in measure_robustness(project, name, evaluator, limit=limit)
    ]
    title = f"{evaluator} on {name}: verdicts after a change of the prompt"
    write(("variation", *COLUMNS), rows, output_format, title)
