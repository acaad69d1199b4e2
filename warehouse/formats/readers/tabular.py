"""Reads rows of CSV files and parses their cells."""

from __future__ import annotations

import csv
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, get_origin

from records.error_messages import RecordError
from records.message import Time
from records.record import Texts
from warehouse.errors import InputError, Problem
from warehouse.formats.columns import NO_COLUMNS
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.cells.lists import parse
from warehouse.formats.readers.field_names import DELIMITERS, FieldNames
from warehouse.formats.readers.files import joined, lines
from warehouse.formats.readers.limits import LONGEST_ROW, MAX_LINES, too_long, too_many_fields
from warehouse.formats.readers.strict_json import NotJsonError, decode, first_repeated, is_list

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from records.record import Record


_WHOLE = re.compile(r"[0-9]+(?:\.0+)?")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Shape:
    """How to parse the cells of a CSV file; cells of other columns are text.

    Attributes:
        json: Columns whose cells hold lists and objects, as JSON or Python writes them.
        numbers: Columns whose cells hold numbers, or true and false.
        text_or_json: Columns whose cells hold a list or text; see `is_list`.
        text_or_whole: Columns whose cells hold a whole number or text.
        text_or_number: Columns whose cells hold any number or text.
    """

    json: frozenset[str] = field(default_factory=frozenset)
    numbers: frozenset[str] = field(default_factory=frozenset)
    text_or_json: frozenset[str] = field(default_factory=frozenset)
    text_or_whole: frozenset[str] = field(default_factory=frozenset)
    text_or_number: frozenset[str] = field(default_factory=frozenset)

    @classmethod
    def of(cls, record: type[Record]) -> Shape:
        """Return the shape that follows from the annotations of a record."""
        types: dict[str, list[str]] = {}
        for name, annotation in record.annotations().items():
            plain = getattr(annotation, "__origin__", annotation)
            kind = (get_origin(plain) or plain).__name__
            if annotation in (Texts, Time):
                kind = "texts" if annotation == Texts else "time"
            types.setdefault(kind, []).append(name)
        return cls(
            json=frozenset(types.get("list", []) + types.get("dict", [])),
            numbers=frozenset(types.get("float", []) + types.get("bool", [])),
            text_or_json=frozenset(types.get("texts", [])),
            text_or_whole=frozenset(types.get("int", [])),
            text_or_number=frozenset(types.get("time", [])),
        )

    def is_json(self, name: str, cell: str) -> bool:
        """Return whether a cell of a column holds a list or object."""
        return name in self.json or (name in self.text_or_json and is_list(cell))

    def is_number(self, name: str, cell: str) -> bool:
        """Return whether a cell of a column holds a number, or true or false."""
        return (
            name in self.numbers
            or (name in self.text_or_whole and _WHOLE.fullmatch(cell) is not None)
            or (name in self.text_or_number and _NUMBER.fullmatch(cell) is not None)
        )


def csv_rows(
    path: Path, shape: Shape, names: FieldNames | None = None, *, may_have_index: bool = False
) -> Iterator[tuple[dict[str, Any], int] | Reject]:
    """Yield the rows of a CSV file (RFC 4180, with a header) and the line where each begins.

    An empty cell is absent. Cells are separated by commas, semicolons or tabs; see `_delimiter`.
    With `may_have_index`, a first column with the name of another one is the index of a data frame
    and has no name.

    Raises:
        InputError: The file is not CSV in UTF-8, its header names a column twice or too many
            columns, lacks a column or does not show the delimiter, or a row is too long.
    """
    header: list[str] | None = None
    for cells, line, delimiter in csv_cells(path, names.known if names else ()):
        if header is None:
            has_index = may_have_index and cells[:1] and cells[0] in cells[1:]
            header = _header(path, ["", *cells[1:]] if has_index else cells, line)
            if names is not None and any(map(str.strip, cells)):
                names.check_header(header, line, delimiter)
        elif cells and cells[0].startswith("\ufeff"):
            yield Reject(line, joined(path), delimiter.join(cells)[:SHOWN])
        elif len(cells) != len(header):
            reason = f"expected {len(header)} cells, found {len(cells)}"
            yield Reject(line, reason, delimiter.join(cells)[:SHOWN])
        else:
            given = zip(header, cells, strict=True)
            yield read_cells({name: cell for name, cell in given if cell}, line, shape, names)


def csv_cells(path: Path, known: Collection[str]) -> Iterator[tuple[list[str], int, str]]:
    """Yield the cells of each row of a CSV file, the line where it begins, and the delimiter.

    Args:
        path: The file.
        known: Names of columns, by which to find the delimiter.

    Raises:
        InputError: The file is not CSV in UTF-8, or does not show the delimiter, or a row is too
            long.
    """
    with _long_cells():
        plain = _Lines(path)
        first = next(plain, None)
        if first is None:
            return
        delimiter = _delimiter(path, first, plain.begin, known)
        try:
            for cells in csv.reader(chain([first], plain), delimiter=delimiter, strict=True):
                plain.is_within_row = False
                yield cells, plain.begin, delimiter
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
        # As written: a line break within quotes is part of a cell.
        return line.text + line.end


def _header(path: Path, cells: list[str], line: int) -> list[str]:
    reason = too_many_fields(len(cells))
    if reason is not None:
        raise InputError([Problem(path, line, reason)])
    twice = first_repeated(cells)
    if twice is not None:
        raise InputError([Problem(path, line, f"the header names the column {twice!r} twice")])
    return cells


def _delimiter(path: Path, header: str, line: int, known: Collection[str]) -> str:
    """Return what separates the cells of a file whose first line is given.

    It is the only one of comma, semicolon and tab that occurs outside of quotes. If several occur,
    it is the only one that separates the name of a known field.

    Raises:
        InputError: Several are possible.
    """
    outside = re.sub(r'"(?:[^"]|"")*"?', "", header)
    possible = [each for each in DELIMITERS if each in outside]
    if len(possible) > 1:
        rows = {each: next(csv.reader([header], delimiter=each), []) for each in possible}
        naming = [each for each, cells in rows.items() if any(cell in known for cell in cells)]
        if len(naming) != 1:
            found = " and a ".join(DELIMITERS[each] for each in possible)
            reason = f"cannot tell the delimiter: the header has a {found}; put column names that "
            reason += "contain one of them into quotes"
            raise InputError([Problem(path, line, reason)])
        possible = naming
    return possible[0] if possible else ","


def read_cells(
    cells: dict[str, str], line: int, shape: Shape, names: FieldNames | None
) -> tuple[dict[str, Any], int] | Reject:
    """Return the fields of a row of texts by column, or the reason why they are not valid."""
    row: dict[str, Any] = {}
    try:
        fields = NO_COLUMNS if names is None else names.fields(tuple(cells))
    except RecordError as error:
        return Reject(line, str(error), ",".join(cells.values())[:SHOWN])
    try:
        for column, cell in cells.items():
            name = fields.get(column, column)
            if names is not None and names.is_list(column):
                row[name] = _list(column, cell, name in shape.json, names)
            elif name == "contexts" != column and not is_list(cell):
                row[name] = [cell]
            elif shape.is_json(name, cell):
                row[name] = parse(cell, column)
            elif shape.is_number(name, cell):
                value = _decoded(cell, column)
                row[name] = value if names is None else names.convert(column, value)
            else:
                row[name] = cell
        return (row if names is None else names.pair(row)), line
    except RecordError as error:
        return Reject(line, str(error), ",".join(cells.values())[:SHOWN])


def _list(column: str, cell: str, is_json: bool, names: FieldNames) -> object:  # noqa: FBT001
    """Return the value of a column that is read as a list, or as the object that its cell holds."""
    if is_json and cell.lstrip()[:1] == "{":
        return parse(cell, column)
    return names.convert(column, cell)


def _decoded(cell: str, column: str) -> Any:
    try:
        return decode(cell)
    except NotJsonError as error:
        message = f"{column}: expected a number, found {cell[:60]!r} ({error})"
        raise RecordError([message]) from None


def decode_texts(fields: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Parse lists and objects that a database or a frame holds as text.

    Raises:
        RecordError: One of them is neither JSON nor as Python writes it.
    """
    return {
        name: parse(value, name) if isinstance(value, str) and shape.is_json(name, value) else value
        for name, value in fields.items()
    }


@contextmanager
def _long_cells() -> Iterator[None]:
    before = csv.field_size_limit(LONGEST_ROW)
    try:
        yield
    finally:
        csv.field_size_limit(before)
