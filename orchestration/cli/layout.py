"""Lay out tables in the width of a terminal: columns are stacked or left out, words stay whole."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TextIO

NARROWEST, USUAL_WIDTH = 40, 80
"""The narrowest terminal that tables are laid out for, and the width without a terminal."""

GAPS = ("   ", "  ")
"""What stands between two columns; the second where the first makes a table too wide."""

INDENT = "  "

MIN_TEXT = 20
"""Text of this width is not wrapped to fit beside other columns."""

MAX_LINES = 4
"""The most lines of a cell beside other columns; a longer text has lines of its own."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: The lines of the heading.
        cells: The cells, each without line breaks.
        numeric: Whether the column is aligned to the right.
    """

    heading: Sequence[str]
    cells: Sequence[str]
    numeric: bool

    @property
    def name(self) -> str:
        """The heading on one line."""
        return " ".join(self.heading)

    @cached_property
    def natural(self) -> int:
        """The width without wrapping."""
        return max(map(cell_len, (*self.heading, *self.cells)), default=0)

    @property
    def longest_cell(self) -> int:
        """The width of the longest cell."""
        return max(map(cell_len, self.cells), default=0)

    @cached_property
    def narrowest(self) -> int:
        """The width below which the column is not wrapped."""
        words = (word for text in (*self.heading, *self.cells) for word in text.split())
        return max(max(map(cell_len, words), default=0), min(self.natural, MIN_TEXT))


def terminal_width(stream: TextIO) -> int:
    """Return the number of characters in a line of a terminal; 80 if `stream` is none.

    The environment variable `COLUMNS` overrides both.
    """
    width = int(given) if (given := os.environ.get("COLUMNS", "")).isdecimal() else 0
    if not width and stream.isatty():
        with suppress(OSError):
            width = os.get_terminal_size(stream.fileno()).columns
    return max(width or USUAL_WIDTH, NARROWEST)


def wrap(text: str, width: int) -> list[str]:
    """Break a text into lines between words; a word that is longer than a line stays whole."""
    if cell_len(text) <= width:
        return [text]
    lines: list[str] = []
    room = 0
    for word in text.split():
        size = cell_len(word)
        if size < room:
            lines[-1] += f" {word}"
            room -= size + 1
        else:
            lines.append(word)
            room = width - size
    return lines or [""]


@dataclass(frozen=True, slots=True)
class _Shape:
    """How columns fit: the width of each, and what stands between them."""

    widths: Sequence[int]
    gap: str


def lay_out(
    columns: Sequence[Column],
    width: int,
    optional: Sequence[str] = (),
    *,
    keys: int | None = None,
    long_cells: bool = False,
) -> tuple[list[str], list[str]]:
    """Lay out a table; what does not fit is wrapped, left out, or stacked.

    If the table is too wide, texts are wrapped; then optional columns are left out; then the widest
    texts get lines of their own, above or below the rest of their row; then each row becomes a list
    of names and values.

    Args:
        columns: The columns.
        width: The width of a line.
        optional: The names of columns that may be left out, the first of them first.
        keys: How many of the first columns say what a row is about; by default the texts before the
            first number.
        long_cells: Whether wrapped cells may have any number of lines.

    Returns:
        The lines, and the names of the columns that were left out. A line is longer than `width`
        only if one of its words is.
    """
    left_out: list[str] = []
    shown = list(columns)
    for name in (None, *optional):
        found = [column for column in shown if column.name != name]
        if len(found) < len(shown):
            left_out.append(str(name))
        shown = found
        shape = _fit_columns(shown, width, long_cells=long_cells)
        if shape is not None:
            return [*_format_table(shown, shape)], left_out
    if keys is None:
        numbers = [at for at, column in enumerate(columns) if column.numeric]
        keys = numbers[0] if numbers else 1
    return [*_format_stacked(shown, keys, width)], left_out


def is_natural(columns: Sequence[Column], width: int) -> bool:
    """Return whether a table fits without wrapping."""
    return any(_natural_width(columns, gap) <= width for gap in GAPS)


def fits(columns: Sequence[Column], width: int) -> bool:
    """Return whether a table fits with its texts wrapped to any number of lines."""
    return _fit_columns(columns, width, long_cells=True) is not None


def _natural_width(columns: Sequence[Column], gap: str) -> int:
    return sum(column.natural for column in columns) + len(gap) * (len(columns) - 1)


def _fit_columns(columns: Sequence[Column], width: int, *, long_cells: bool) -> _Shape | None:
    """Return the shape with which a table fits; None if there is none."""
    natural = [column.natural for column in columns]
    for gap in GAPS:
        if _natural_width(columns, gap) <= width:
            return _Shape(natural, gap)
    room = width - len(GAPS[-1]) * (len(columns) - 1)
    least = [column.narrowest for column in columns]
    if sum(least) > room:
        return None
    widest = max(natural)
    while True:
        widths = [max(low, min(high, widest)) for low, high in zip(least, natural, strict=True)]
        if sum(widths) <= room:
            break
        widest -= 1
    if not long_cells and any(
        len(wrap(cell, size)) > MAX_LINES
        for column, size in zip(columns, widths, strict=True)
        for cell in column.cells
    ):
        return None
    return _Shape(widths, GAPS[-1])


def _format_table(columns: Sequence[Column], shape: _Shape) -> Iterator[str]:
    """Yield the lines of a table: headings, a rule, and rows."""
    yield from _format_heading(columns, shape)
    yield "─" * (sum(shape.widths) + len(shape.gap) * (len(columns) - 1))
    for at in range(len(columns[0].cells)):
        yield from _format_row(columns, shape, at)


def _format_heading(columns: Sequence[Column], shape: _Shape) -> Iterator[str]:
    wrapped = [
        [part for line in column.heading for part in wrap(line, size)]
        for column, size in zip(columns, shape.widths, strict=True)
    ]
    height = max(map(len, wrapped))
    # The last lines stand on the rule.
    raised = [[*[""] * (height - len(lines)), *lines] for lines in wrapped]
    for lines in zip(*raised, strict=True):
        yield _format_line(lines, columns, shape)


def _format_row(columns: Sequence[Column], shape: _Shape, at: int) -> Iterator[str]:
    wrapped = [
        wrap(column.cells[at], size) for column, size in zip(columns, shape.widths, strict=True)
    ]
    for lines in zip_longest(*wrapped, fillvalue=""):
        yield _format_line(lines, columns, shape)


def _format_line(texts: Sequence[str], columns: Sequence[Column], shape: _Shape) -> str:
    padded = []
    for text, column, size in zip(texts, columns, shape.widths, strict=True):
        space = " " * (size - cell_len(text))
        padded.append(space + text if column.numeric else text + space)
    return shape.gap.join(padded).rstrip()


def _format_stacked(columns: Sequence[Column], keys: int, width: int) -> Iterator[str]:
    """Yield the lines of a table whose widest texts stand above or below the rest of their row.

    Texts after the keys stand below. Keys stand above, and all of them if one of them does.
    """
    texts = [
        at
        for at, column in enumerate(columns)
        if at < keys or (not column.numeric and column.natural > MIN_TEXT)
    ]
    own: set[int] = set()
    for widest in sorted(texts, key=lambda at: -columns[at].longest_cell):
        own |= set(range(keys)) if widest < keys else {widest}
        rest = [column for at, column in enumerate(columns) if at not in own]
        shape = _fit_columns(rest, width - len(INDENT), long_cells=False) if rest else None
        if shape is not None:
            above = [column for at, column in enumerate(columns[:keys]) if at in own]
            below = [columns[at] for at in sorted(own) if at >= keys]
            yield from _format_with_texts(above, rest, below, shape, width)
            return
    yield from _format_records(columns, width)


def _format_with_texts(
    above: Sequence[Column],
    rest: Sequence[Column],
    below: Sequence[Column],
    shape: _Shape,
    width: int,
) -> Iterator[str]:
    indent = INDENT if above else ""
    deeper = indent + INDENT
    yield from _join_texts([column.name for column in above], width)
    yield from (indent + line for line in _format_heading(rest, shape))
    yield from (deeper + column.name for column in below)
    yield "─" * width
    for at in range(len(rest[0].cells)):
        yield from _join_texts([column.cells[at] for column in above], width)
        yield from (indent + line for line in _format_row(rest, shape, at))
        for column in below:
            lines = wrap(column.cells[at], width - len(deeper))
            yield from (deeper + line for line in lines)


def _join_texts(texts: Sequence[str], width: int) -> Iterator[str]:
    """Yield texts beside each other, and those that do not fit below each other."""
    line = ""
    for text in texts:
        joined = f"{line}{GAPS[0]}{text}" if line else text
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            yield line
        *full, line = wrap(text, width)
        yield from full
    if line:
        yield line


def _format_records(columns: Sequence[Column], width: int) -> Iterator[str]:
    """Yield each row as lines of a name and a value."""
    room = max(cell_len(column.name) for column in columns)
    beside = width - room - len(GAPS[0])
    if not columns[0].cells:
        yield from _join_texts([column.name for column in columns], width)
    for at in range(len(columns[0].cells)):
        if at:
            yield ""
        for column in columns:
            name, text = column.name, column.cells[at]
            longest = max(map(cell_len, text.split()), default=0)
            if longest <= beside and min(MIN_TEXT, cell_len(text)) <= beside:
                first, *more = wrap(text, beside)
                yield name + " " * (room - cell_len(name)) + GAPS[0] + first
                yield from (" " * (room + len(GAPS[0])) + line for line in more)
            else:
                yield from wrap(name, width)
                yield from (INDENT + line for line in wrap(text, width - len(INDENT)))
