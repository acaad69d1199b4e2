"""Reads rows of CSV files and parses their cells."""

from __future__ import annotations

import csv
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_origin

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.files import lines
from warehouse.formats.readers.limits import LONGEST_ROW, MAX_LINES, too_long, too_many_fields
from warehouse.formats.readers.strict_json import NotJsonError, decode, first_repeated
from warehouse.formats.records.record import Texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.formats.records.record import Record


@dataclass(frozen=True, slots=True)
class Shape:
    """How to parse the cells of a CSV file; cells of other columns are text.

    Attributes:
        json: Columns whose cells hold JSON lists and objects.
        numbers: Columns whose cells hold numbers.
        text_or_json: Columns whose cells hold JSON if they begin with `[`, otherwise text.
        text_or_number: Columns whose cells hold a whole number or text.
    """

    json: frozenset[str] = field(default_factory=frozenset)
    numbers: frozenset[str] = field(default_factory=frozenset)
    text_or_json: frozenset[str] = field(default_factory=frozenset)
    text_or_number: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, record: type[Record]) -> Shape:
        """Return the shape that follows from the annotations of a record."""
        types: dict[str, list[str]] = {}
        for name, annotation in record.annotations().items():
            plain = getattr(annotation, "__origin__", annotation)
            kind = "texts" if annotation == Texts else (get_origin(plain) or plain).__name__
            types.setdefault(kind, []).append(name)
        return cls(
            json=frozenset(types.get("list", []) + types.get("dict", [])),
            numbers=frozenset(types.get("float", [])),
            text_or_json=frozenset(types.get("texts", [])),
            text_or_number=frozenset(types.get("int", [])),
        )


def csv_rows(path: Path, shape: Shape) -> Iterator[tuple[dict[str, Any], int] | Reject]:
    """Yield the rows of a CSV file (RFC 4180, with a header) and the line where each begins.

    An empty cell is absent.

    Raises:
        InputError: The file is not CSV in UTF-8, its header names a column twice or too many
            columns, or a row is too long.
    """
    with _long_cells():
        plain = _Lines(path)
        header: list[str] | None = None
        try:
            for cells in csv.reader(plain, strict=True):
                plain.is_within_row = False
                line = plain.begin
                if header is None:
                    header = _header(path, cells, line)
                elif len(cells) != len(header):
                    reason = f"expected {len(header)} cells, found {len(cells)}"
                    yield Reject(line, reason, ",".join(cells)[:SHOWN])
                else:
                    yield _row(dict(zip(header, cells, strict=True)), line, shape)
        except csv.Error as error:
            raise InputError([Problem(path, plain.number, f"not CSV: {error}")]) from None


class _Lines:
    """The lines of a file for the csv module, without empty lines between rows.

    Attributes:
        number: The number of the last line.
        begin: The number of the line where the row begins.
        is_within_row: Whether the next line may belong to the same row as the last one.
    """

    def __init__(self, path: Path) -> None:
        self.number = 0
        self.begin = 0
        self.is_within_row = False
        self._path = path
        self._lines = lines(path, keep_blank=lambda: self.is_within_row)
        self._length = 0

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        if isinstance(line, Reject):
            raise InputError([Problem(self._path, line.line, line.reason)])
        self.number = line.number
        if not self.is_within_row:
            self.begin, self._length, self.is_within_row = line.number, 0, True
        self._length += len(line.text) + 1
        if self._length > LONGEST_ROW:
            raise InputError([Problem(self._path, self.begin, too_long("the row"))])
        if self.number - self.begin >= MAX_LINES:
            reason = f"the row has more than {MAX_LINES:,} lines; is a quotation mark missing?"
            raise InputError([Problem(self._path, self.begin, reason)])
        return line.text + "\n"


def _header(path: Path, cells: list[str], line: int) -> list[str]:
    reason = too_many_fields(len(cells))
    if reason is not None:
        raise InputError([Problem(path, line, reason)])
    twice = first_repeated(cells)
    if twice is not None:
        raise InputError([Problem(path, line, f"the header names the column {twice!r} twice")])
    return cells


def _row(cells: dict[str, str], line: int, shape: Shape) -> tuple[dict[str, Any], int] | Reject:
    row: dict[str, Any] = {}
    for name, cell in cells.items():
        if cell == "":
            continue
        is_json = name in shape.json or (name in shape.text_or_json and cell.startswith("["))
        is_number = name in shape.numbers or (name in shape.text_or_number and cell.isdecimal())
        if is_json or is_number:
            try:
                row[name] = decode(cell)
            except NotJsonError as error:
                wanted = "JSON" if is_json else "a number"
                reason = f"{name}: expected {wanted}, found {cell[:60]!r} ({error})"
                return Reject(line, reason, ",".join(cells.values())[:SHOWN])
        else:
            row[name] = cell
    return row, line


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(LONGEST_ROW)
    try:
        yield
    finally:
        csv.field_size_limit(before)
