"""`scoreline evaluators`: the catalogue, or one evaluator's page."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.options import debug_option, format_option

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator
    from orchestration.cli.output import Form


@click.command(
    "evaluators",
    epilog="""\b
Examples:
  scoreline evaluators
  scoreline evaluators citation
  scoreline evaluators document_retrieval --format json""",
)
@click.argument("name", required=False)
@format_option
@debug_option
def command(name: str | None, form: Form) -> None:
    """List the evaluators, or show the page of one: NAME.

    A page says what the evaluator answers, its metrics with their bounds and thresholds, its
    parameters with their defaults, and the fields of the input that it reads.
    """
    from evaluators import catalog
    from orchestration.cli.output import write

    if name is not None:
        _page(catalog.build(name, {}), form)
        return
    rows = []
    for found, kind in catalog.catalogue().items():
        primary = next(metric.name for metric in kind.metrics if metric.primary)
        names = [metric.name for metric in kind.metrics]
        summary = _text(kind).partition("\n")[0]
        rows.append([found, catalog.family(found), primary, names, sorted(kind.reads), summary])
    columns = ["evaluator", "family", "primary", "metrics", "reads", "summary"]
    if form in ("table", "md"):
        columns = ["evaluator", "family", "primary", "summary"]
        rows = [[row[0], row[1], row[2], row[5]] for row in rows]
    write(columns, rows, form)


def _page(evaluator: Evaluator, form: Form) -> None:
    from evaluators import catalog
    from orchestration.cli.output import write

    columns = ["metric", "best", "low", "high", "threshold", "primary", "level", "summary"]
    rows: list[list[Any]] = [
        [m.name, m.best, *m.bounds, m.threshold, m.primary, m.level, m.summary]
        for m in evaluator.measured()
    ]
    if form in ("csv", "json"):
        write(["evaluator", *columns], [[evaluator.name, *row] for row in rows], form)
        return
    mark = "# " if form == "md" else ""
    click.echo(f"{mark}{evaluator.name} ({catalog.family(evaluator.name)})\n")
    click.echo(f"{_text(type(evaluator))}\n")
    write(columns, rows, form, "Metrics")
    click.echo()
    if evaluator.parameters:
        parameters = [[name, _json(value)] for name, value in evaluator.parameters.items()]
        write(["parameter", "default"], parameters, form, "Parameters")
        click.echo()
    reads = [[name, True] for name in sorted(evaluator.reads)]
    optional = [[name, False] for name in sorted(evaluator.optional)]
    write(["field", "required"], [*reads, *optional], form, "Fields that it reads")


def _text(kind: type[Evaluator]) -> str:
    return inspect.getdoc(kind) or ""


def _json(value: Any) -> str:
    import json

    return json.dumps(value)
