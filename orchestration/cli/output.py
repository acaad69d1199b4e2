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

from warehouse.foreign_text import show_hidden, show_hidden_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from orchestration.cli.layout import Column

OutputFormat = Literal["table", "csv", "json", "md"]


def write_frame(
    frame: pl.DataFrame,
    output_format: OutputFormat,
    title: str | None = None,
    optional: Sequence[str] = (),
) -> None:
    """Write a frame to standard output; see `write`."""
    write(frame.columns, frame.iter_rows(), output_format, title, optional=optional)


def write(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    output_format: OutputFormat,
    title: str | None = None,
    numeric: Sequence[bool] | None = None,
    *,
    optional: Sequence[str] = (),
    keys: int | None = None,
    long_cells: bool = False,
) -> None:
    """Write rows to standard output; rows of CSV and JSON one by one as they come.

    Nulls and numbers that are not finite are empty in CSV, null in JSON and a dash in tables.
    Tables fit the terminal, or 80 characters without one.

    Args:
        columns: The names of the columns; in tables they may have several lines.
        rows: The rows, each as long as `columns`.
        output_format: The format.
        title: A heading for tables and Markdown.
        numeric: Whether each column holds numbers. With it, rows of Markdown are written one by
            one, too; without it, the rows tell.
        optional: Columns that a table may leave out on a narrow terminal, the first of them first.
        keys: How many of the first columns say what a row is about; by default the texts before the
            first number.
        long_cells: Whether long texts stay beside each other in a table.
    """
    cells = ([to_json_value(value) for value in row] for row in rows)
    if output_format == "json":
        _write_json(columns, cells)
    elif output_format == "csv":
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_format_csv(value) for value in row] for row in cells)
    elif output_format == "md":
        _write_markdown(columns, cells, title, numeric)
    else:
        from orchestration.cli.layout import terminal_width

        width = terminal_width(sys.stdout)
        lines = table_lines(
            columns,
            list(cells),
            width,
            title=title,
            optional=optional,
            keys=keys,
            long_cells=long_cells,
        )
        for line in lines:
            echo(line)


def _write_json(columns: Sequence[str], cells: Iterable[Sequence[Any]]) -> None:
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
    return _to_scalar(value)


def _to_scalar(value: Any) -> str | float | bool | None:
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
    return show_hidden_line(str(_dump_nested(value)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    width: int,
    *,
    title: str | None = None,
    optional: Sequence[str] = (),
    keys: int | None = None,
    long_cells: bool = False,
) -> Iterator[str]:
    """Yield the lines of a table with a width; see `write` and `lay_out`."""
    from orchestration.cli.layout import lay_out, wrap

    if title is not None:
        yield from wrap(title, width)
    shown = table_columns(columns, rows)
    lines, left_out = lay_out(shown, width, optional, keys=keys, long_cells=long_cells)
    yield from lines
    if left_out:
        yield from wrap(f"Not shown: {', '.join(left_out)}; --format csv has all columns.", width)


def table_columns(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Column]:
    """Return the columns of a table as texts."""
    from orchestration.cli.layout import Column

    return [
        Column(
            [format_cell(line) for line in column.split("\n")],
            [format_cell(row[at]) for row in rows],
            any(_is_number(row[at]) for row in rows),
        )
        for at, column in enumerate(columns)
    ]


def _write_markdown(
    columns: Sequence[str],
    cells: Iterable[Sequence[Any]],
    title: str | None,
    numeric: Sequence[bool] | None,
) -> None:
    if title is not None:
        echo(f"## {title}\n")
    if numeric is None:
        cells = list(cells)
        numeric = [any(_is_number(row[at]) for row in cells) for at in range(len(columns))]
    heading = [columns, ["---:" if number else "---" for number in numeric]]
    for line in chain(heading, ([format_cell(value) for value in row] for row in cells)):
        sys.stdout.write(f"| {' | '.join(map(escape_markdown, line))} |\n")


def escape_markdown(text: str) -> str:
    """Escape what would end a cell or begin a tag; the text has one line."""
    return re.sub(r"[\\|<]", r"\\\g<0>", text)


def echo(text: object = "", *, err: bool = False) -> None:
    """Write lines; characters that cannot be seen are escapes, since names come from outside."""
    click.echo(show_hidden(str(text)), err=err)


def echo_json(value: Any) -> None:
    """Write an object as JSON, exactly: programs read it."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def say(text: str, *, err: bool = False, indent: str = "", mark: str = "") -> None:
    """Write a sentence; a terminal would break the words at its edge, so it gets whole lines.

    Without a terminal a sentence is one line, for programs that search for it.

    Args:
        text: The sentence.
        err: Whether it goes to standard error.
        indent: What stands before each further line.
        mark: What stands before the first line, as wide as `indent`; it may have a colour.
    """
    stream = sys.stderr if err else sys.stdout
    text = show_hidden(text)
    if not stream.isatty():
        click.echo(mark + text, err=err)
        return
    from orchestration.cli.layout import terminal_width, wrap

    words = text.lstrip()
    begin = text[: len(text) - len(words)]
    first, *more = wrap(words, terminal_width(stream) - max(len(indent), len(begin)))
    click.echo("\n".join([mark + begin + first, *(indent + line for line in more)]), err=err)
