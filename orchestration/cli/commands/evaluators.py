"""`scoreline evaluators`: list the evaluators, or describe evaluator."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.options import format_option
from orchestration.cli.program import debug_option

if TYPE_CHECKING:
    from evaluators.catalog import EvaluatorDoc
    from orchestration.cli.output import OutputFormat

HELP_ORDER = 8


@click.command(
    "evaluators",
    epilog="""\b
Examples:
  scoreline evaluators
  scoreline evaluators citation
  scoreline evaluators retrieval
  scoreline evaluators document_retrieval --format json""",
)
@click.argument("name", required=False)
@format_option
@debug_option
def command(name: str | None, output_format: OutputFormat) -> None:
    """List the evaluators, or describe one.

    NAME is an evaluator, or a family to list.

    The column `asks` lists the keys to configure first: `judge`, or a model under `models`.

    The description of an evaluator shows the question it answers, its metrics with bounds and
    thresholds, its parameters with defaults, and the input fields it reads.
    """
    from evaluators import catalog
    from evaluators.sample import input_fields
    from orchestration.cli.output import write

    members = catalog.families().get(name or "")
    # `trace` is both a family and its only evaluator: describe it instead of listing one row.
    if name is not None and members in (None, (name,)):
        _describe(catalog.describe(catalog.build(name)), output_format)
        return
    rows: list[list[Any]] = []
    for evaluator in catalog.describe_all():
        if members is not None and evaluator.name not in members:
            continue
        names = [metric.name for metric in evaluator.metrics]
        fields = sorted({field for column in evaluator.reads for field in input_fields(column)})
        known = [evaluator.name, evaluator.family, evaluator.primary.name]
        rows.append([*known, names, fields, list(evaluator.engine_keys), evaluator.question])
    columns = ["evaluator", "family", "primary", "metrics", "reads", "asks", "summary"]
    if output_format in ("table", "md"):
        columns = ["evaluator", "family", "primary", "asks", "summary"]
        rows = [[*row[:3], ", ".join(row[5]) or None, row[6]] for row in rows]
    write(columns, rows, output_format)


def _describe(evaluator: EvaluatorDoc, output_format: OutputFormat) -> None:
    from evaluators.sample import input_fields, input_file
    from orchestration.cli.output import write

    columns = ["metric", "best", "low", "high", "threshold", "primary", "level", "summary"]
    rows: list[list[Any]] = [
        [m.name, m.best, *m.bounds, m.threshold, m.primary, m.level, m.summary]
        for m in evaluator.metrics
    ]
    if output_format in ("csv", "json"):
        write(["evaluator", *columns], [[evaluator.name, *row] for row in rows], output_format)
        return
    heading = "# " if output_format == "md" else ""
    click.echo(f"{heading}{evaluator.name} ({evaluator.family})\n")
    click.echo(f"{evaluator.prose}\n")
    write(columns, rows, output_format, "Metrics")
    click.echo()
    if evaluator.parameters:
        parameters = [[p.name, json.dumps(p.default), p.meaning] for p in evaluator.parameters]
        write(["parameter", "default", "what it does"], parameters, output_format, "Parameters")
        click.echo()
    reads = [
        [" or ".join(input_fields(column)), input_file(column), column in evaluator.reads]
        for column in (*evaluator.reads, *evaluator.optional)
    ]
    if reads:
        write(["field", "file", "required"], reads, output_format, "Input fields")
    if evaluator.engine_keys:
        separator = "\n" if reads else ""
        keys = ", ".join(evaluator.engine_keys)
        click.echo(f"{separator}Needs {keys} in scoreline.yaml; without it: not applicable.")
