"""`scoreline evaluators`: list the evaluators, find some, or describe one."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from orchestration.cli.options import config_option, format_option
from orchestration.cli.output import echo
from orchestration.cli.program import debug_option

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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
  scoreline evaluators pii leak
  scoreline evaluators document_retrieval --format json""",
)
@click.argument("words", metavar="[NAME|WORD...]", nargs=-1)
@format_option
@config_option
@debug_option
def command(words: tuple[str, ...], output_format: OutputFormat, config: Path) -> None:
    """List the evaluators, find some, or describe one.

    NAME is an evaluator to describe, or a family to list. Otherwise the evaluators are listed that
    have every WORD, or a word that contains it, in their name, in the names and meanings of their
    metrics, or in the question they answer. The only one that is found is described.

    In the folder of a project, its own evaluators are listed, too: those of its plugins, and those
    that benchmarks use under names of their own.

    The column `asks` lists the keys to configure first: `judge`, or a model under `models`.

    The description of an evaluator shows the question it answers, its metrics with bounds and
    thresholds, its parameters with defaults, and the input fields it reads.
    """
    from orchestration.cli.evaluator_pages import load_pages
    from orchestration.cli.output import write

    pages = [*load_pages(), *_own_pages(config)]
    name = " ".join(words) or None
    members = [page for page in pages if name in (None, page["family"])]
    if name is not None and not members and name not in {page["name"] for page in pages}:
        members = [page for page in pages if _has_words(page, name)]
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
    write(columns, rows, output_format, optional=("primary", "family"))


def _own_pages(config: Path) -> list[Page]:
    """Return the pages of a project's evaluators; none without a project."""
    from orchestration.cli.evaluator_pages import project_pages
    from orchestration.errors import OrchestrationError

    source = click.get_current_context().get_parameter_source("config")
    is_named = source is not ParameterSource.DEFAULT
    if not is_named and not config.is_file():
        return []
    try:
        return project_pages(config)
    except OrchestrationError as error:
        if is_named:
            raise
        echo(f"note: the evaluators of {config} are not listed: {error}", err=True)
        return []


def _write_prose(text: str, output_format: OutputFormat) -> None:
    from orchestration.cli.layout import terminal_width, wrap

    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        if output_format == "table":
            lines = wrap(" ".join(lines), terminal_width(sys.stdout))
        echo("\n".join([*lines, ""]))


def _has_words(page: Page, text: str) -> bool:
    """Return whether a page has every word of a text, as a part of a longer word at least."""
    metrics = [text for name, *_, summary in page["metrics"] for text in (name, summary)]
    searched = "\n".join([page["name"], page["question"], *metrics]).casefold()
    words = re.findall(r"[^\W_]+", text.casefold())
    return bool(words) and all(word in searched for word in words)


def _find(pages: Sequence[Page], name: str) -> Page:
    """Return the page of an evaluator.

    Raises:
        UnknownEvaluator: There is no such evaluator; the message suggests a similar name.
    """
    for page in pages:
        if page["name"] == name:
            return page
    from evaluators.errors import UnknownEvaluator
    from records.similar_names import did_you_mean

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
    echo(f"{heading}{page['name']} ({page['family']})\n")
    _write_prose(page["prose"], output_format)
    write(columns, rows, output_format, "Metrics")
    echo()
    if page["parameters"]:
        columns = ["parameter", "default", "what it does"]
        write(columns, page["parameters"], output_format, "Parameters")
        echo()
    fields = [[" or ".join(names), *more] for names, *more in page["fields"]]
    if fields:
        write(["field", "file", "required"], fields, output_format, "Input fields")
    if page["keys"]:
        separator = "\n" if fields else ""
        keys = ", ".join(page["keys"])
        echo(f"{separator}Needs {keys} in scoreline.yaml; without it: not applicable.")
