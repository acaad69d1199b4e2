"""Write rows to standard output as a table, CSV, JSON or Markdown."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import json
import math
import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

OutputFormat = Literal["table", "csv", "json", "md"]
PIPED_WIDTH = 10_000


def write_frame(frame: pl.DataFrame, output_format: OutputFormat, title: str | None = None) -> None:
    """Write a frame to standard output; see `write`."""
    write(frame.columns, frame.iter_rows(), output_format, title)


def write(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    output_format: OutputFormat,
    title: str | None = None,
    numeric: Sequence[bool] | None = None,
) -> None:
    """Write rows to standard output; rows of CSV and JSON one by one as they come.

    Nulls and numbers that are not finite are empty in CSV, null in JSON and a dash in tables.

    Args:
        columns: The names of the columns; in tables they may have several lines.
        rows: The rows, each as long as `columns`.
        output_format: The format.
        title: A heading for tables and Markdown.
        numeric: Whether each column holds numbers. With it, rows of Markdown are written one by
            one, too; without it, the rows tell.
    """
    cells = ([to_json_value(value) for value in row] for row in rows)
    if output_format == "json":
        _json(columns, cells)
    elif output_format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_format_csv(value) for value in row] for row in cells)
    elif output_format == "md":
        _markdown(columns, cells, title, numeric)
    else:
        _table(columns, list(cells), title)


def _json(columns: Sequence[str], cells: Iterable[Sequence[Any]]) -> None:
    """Write a list of objects as `json.dumps` does with an indent of 2."""
    separator = "["
    for row in cells:
        found = dict(zip(columns, row, strict=True))
        text = json.dumps(found, ensure_ascii=False, indent=2, allow_nan=False)
        sys.stdout.write(separator + "\n  " + text.replace("\n", "\n  "))
        separator = ","
    sys.stdout.write("[]\n" if separator == "[" else "\n]\n")


def to_json_value(value: Any) -> Any:
    """Convert a value to text, number, boolean, list, object or null."""
    if isinstance(value, dict):
        return {str(key): to_json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(item) for item in value]
    if hasattr(value, "to_list"):
        return to_json_value(value.to_list())
    return _scalar(value)


def _scalar(value: Any) -> str | float | bool | None:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float | decimal.Decimal):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


def _format_csv(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _dump_nested(value)


def _dump_nested(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def format_cell(value: Any) -> str:
    """Format a value for a table cell, on one line and without control characters."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if 0 < abs(value) < 1e-3 or abs(value) >= 1e6 else f"{value:.3f}"  # noqa: PLR2004
    text = str(_dump_nested(value))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if title is not None:
        click.echo(title)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for at, column in enumerate(columns):
        numeric = any(_is_number(row[at]) for row in rows)
        heading = "\n".join(format_cell(line) for line in column.split("\n"))
        table.add_column(Text(heading), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(format_cell(value)) for value in row))
    terminal = sys.stdout.isatty()
    console = Console(file=sys.stdout, highlight=False, width=None if terminal else PIPED_WIDTH)
    with console.capture() as captured:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _markdown(
    columns: Sequence[str],
    cells: Iterable[Sequence[Any]],
    title: str | None,
    numeric: Sequence[bool] | None,
) -> None:
    if title is not None:
        click.echo(f"## {title}\n")
    if numeric is None:
        cells = list(cells)
        numeric = [any(_is_number(row[at]) for row in cells) for at in range(len(columns))]
    heading = [columns, ["---:" if number else "---" for number in numeric]]
    for line in chain(heading, ([format_cell(value) for value in row] for row in cells)):
        sys.stdout.write(f"| {' | '.join(map(escape_markdown, line))} |\n")


def escape_markdown(text: str) -> str:
    """Escape what would end a cell or begin a tag; the text has one line."""
    return re.sub(r"[\\|<]", r"\\\g<0>", text)
