"""`scoreline evaluators`: the catalogue, or one evaluator's page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.options import debug_option, format_option

if TYPE_CHECKING:
    from evaluators.pages import Page
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
    from evaluators import catalog, pages
    from orchestration.cli.output import write

    if name is not None:
        _page(pages.page(catalog.build(name)), form)
        return
    rows: list[list[Any]] = []
    for one in pages.pages():
        names = [metric.name for metric in one.metrics]
        rows.append([one.name, one.family, one.primary.name, names, list(one.reads), one.question])
    columns = ["evaluator", "family", "primary", "metrics", "reads", "summary"]
    if form in ("table", "md"):
        columns = ["evaluator", "family", "primary", "summary"]
        rows = [[row[0], row[1], row[2], row[5]] for row in rows]
    write(columns, rows, form)


def _page(page: Page, form: Form) -> None:
    from orchestration.cli.output import write

    columns = ["metric", "best", "low", "high", "threshold", "primary", "level", "summary"]
    rows: list[list[Any]] = [
        [m.name, m.best, *m.bounds, m.threshold, m.primary, m.level, m.summary]
        for m in page.metrics
    ]
    if form in ("csv", "json"):
        write(["evaluator", *columns], [[page.name, *row] for row in rows], form)
        return
    mark = "# " if form == "md" else ""
    click.echo(f"{mark}{page.name} ({page.family})\n")
    click.echo(f"{page.prose}\n")
    write(columns, rows, form, "Metrics")
    click.echo()
    if page.parameters:
        parameters = [[p.name, json.dumps(p.default), p.meaning] for p in page.parameters]
        write(["parameter", "default", "what it does"], parameters, form, "Parameters")
        click.echo()
    reads = [[name, True] for name in page.reads]
    optional = [[name, False] for name in page.optional]
    write(["field", "required"], [*reads, *optional], form, "Fields that it reads")
