"""`scoreline evaluators`: list the evaluators, find some, or describe one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.options import format_option
from orchestration.cli.program import debug_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from orchestration.cli.evaluator_pages import Page
    from orchestration.cli.output import OutputFormat

HELP_ORDER = 8


@click.command(
    "evaluators",
    epilog="""\b
Examples:
  scoreline evaluators
  scoreline evaluators citation
  scoreline evaluators retrieval
  scoreline evaluators toxic
  scoreline evaluators document_retrieval --format json""",
)
@click.argument("name", required=False)
@format_option
@debug_option
def command(name: str | None, output_format: OutputFormat) -> None:
    """List the evaluators, find some, or describe one.

    NAME is an evaluator to describe, or a family to list. Otherwise the evaluators are listed that
    have its words in their name, in the names and meanings of their metrics, or in the question
    they answer.

    The column `asks` lists the keys to configure first: `judge`, or a model under `models`.

    The description of an evaluator shows the question it answers, its metrics with bounds and
    thresholds, its parameters with defaults, and the input fields it reads.
    """
    from orchestration.cli.evaluator_pages import load_pages
    from orchestration.cli.output import write

    pages = load_pages()
    members = [page for page in pages if name in (None, page["family"])]
    if name is not None and not members and name not in {page["name"] for page in pages}:
        members = [page for page in pages if _words(name) <= _words(*_searched(page))]
        # The only one is more than a word that was found.
        name = members[0]["name"] if len(members) == 1 else name
    # `trace` is both a family and its only evaluator: describe it instead of listing one row.
    if name is not None and [page["name"] for page in members] in ([], [name]):
        _describe(_find(pages, name), output_format)
        return
    rows: list[list[Any]] = []
    for page in members:
        names = [metric for metric, *_ in page["metrics"]]
        fields = sorted(
            {each for group, _, required in page["fields"] if required for each in group}
        )
        known = [page["name"], page["family"], page["primary"]]
        rows.append([*known, names, fields, page["keys"], page["question"]])
    columns = ["evaluator", "family", "primary", "metrics", "reads", "asks", "summary"]
    if output_format in ("table", "md"):
        columns = ["evaluator", "family", "primary", "asks", "summary"]
        rows = [[*row[:3], ", ".join(row[5]) or None, row[6]] for row in rows]
    write(columns, rows, output_format)


def _searched(page: Page) -> list[str]:
    """Return the texts in which words are looked for."""
    metrics = [text for name, *_, summary in page["metrics"] for text in (name, summary)]
    return [page["name"], page["question"], *metrics]


def _words(*texts: str) -> set[str]:
    return {word for text in texts for word in re.findall(r"[^\W_]+", text.casefold())}


def _find(pages: Sequence[Page], name: str) -> Page:
    """Return the page of an evaluator.

    Raises:
        UnknownEvaluator: There is no such evaluator; the message suggests a similar name.
    """
    for page in pages:
        if page["name"] == name:
            return page
    from evaluators.errors import UnknownEvaluator, did_you_mean

    names = [page[kind] for kind in ("name", "family") for page in pages]
    raise UnknownEvaluator(f"unknown evaluator {name!r}{did_you_mean(name, names)}")


def _describe(page: Page, output_format: OutputFormat) -> None:
    from orchestration.cli.output import write

    columns = ["metric", "best", "low", "high", "threshold", "primary", "level", "summary"]
    rows = page["metrics"]
    if output_format in ("csv", "json"):
        write(["evaluator", *columns], [[page["name"], *row] for row in rows], output_format)
        return
    heading = "# " if output_format == "md" else ""
    click.echo(f"{heading}{page['name']} ({page['family']})\n")
    click.echo(f"{page['prose']}\n")
    write(columns, rows, output_format, "Metrics")
    click.echo()
    if page["parameters"]:
        columns = ["parameter", "default", "what it does"]
        write(columns, page["parameters"], output_format, "Parameters")
        click.echo()
    fields = [[" or ".join(names), *more] for names, *more in page["fields"]]
    if fields:
        write(["field", "file", "required"], fields, output_format, "Input fields")
    if page["keys"]:
        separator = "\n" if fields else ""
        keys = ", ".join(page["keys"])
        click.echo(f"{separator}Needs {keys} in scoreline.yaml; without it: not applicable.")
