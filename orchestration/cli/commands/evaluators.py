"""`scoreline evaluators`: the catalogue, or one evaluator's page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.options import debug_option, format_option

if TYPE_CHECKING:
    from evaluators.catalog import Page
    from orchestration.cli.output import Form


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
def command(name: str | None, form: Form) -> None:
    """List the evaluators, those of a family, or show the page of one: NAME.

    `asks` names what must be configured first: a judge, or a model under `models:`.

    A page says what the evaluator answers, its metrics with their bounds and thresholds, its
    parameters with their defaults, and the fields of the input that it reads.
    """
    from evaluators import catalog
    from evaluators.sample import fields_of
    from orchestration.cli.output import write

    members = catalog.families().get(name or "")
    # `trace` is a family and its only evaluator: the page says more than a list of one.
    if name is not None and members in (None, (name,)):
        _page(catalog.page(catalog.build(name)), form)
        return
    rows: list[list[Any]] = []
    for one in catalog.pages():
        if members is not None and one.name not in members:
            continue
        names = [metric.name for metric in one.metrics]
        fields = sorted({field for column in one.reads for field in fields_of(column)})
        known = [one.name, one.family, one.primary.name, names, fields, list(one.asks)]
        rows.append([*known, one.question])
    columns = ["evaluator", "family", "primary", "metrics", "reads", "asks", "summary"]
    if form in ("table", "md"):
        columns = ["evaluator", "family", "primary", "asks", "summary"]
        rows = [[*row[:3], ", ".join(row[5]) or None, row[6]] for row in rows]
    write(columns, rows, form)


def _page(page: Page, form: Form) -> None:
    from evaluators.sample import fields_of, file_of
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
    reads = [
        [" or ".join(fields_of(column)), file_of(column), column in page.reads]
        for column in (*page.reads, *page.optional)
    ]
    if reads:
        write(["field", "of the", "required"], reads, form, "Fields that it reads")
    if page.asks:
        between = "\n" if reads else ""
        click.echo(
            f"{between}Asks {', '.join(page.asks)} of scoreline.yaml; without it: not applicable."
        )
