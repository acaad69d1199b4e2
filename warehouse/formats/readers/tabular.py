"""Reads rows of CSV and Parquet files and parses their cells."""

from __future__ import annotations

import csv
import io
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_origin

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.files import COMPRESSED, LONGEST_LINE, Line, lines, opened
from warehouse.formats.readers.strict_json import NotJsonError, decode
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
        InputError: The file is not CSV in UTF-8, or its header names a column twice.
    """
    with _long_cells():
        plain = _Lines(path)
        reader = csv.reader(plain, strict=True)
        header: list[str] | None = None
        begin = 1
        try:
            for cells in reader:
                line, begin = begin, plain.number + 1
                if not cells:
                    continue
                if header is None:
                    header = _header(path, cells)
                elif len(cells) != len(header):
                    reason = f"expected {len(header)} cells, found {len(cells)}"
                    yield Reject(line, reason, ",".join(cells)[:SHOWN])
                else:
                    yield _row(dict(zip(header, cells, strict=True)), line, shape)
        except csv.Error as error:
            raise InputError([Problem(path, plain.number, f"not CSV: {error}")]) from None


class _Lines:
    """The lines of a file for the csv module, with a count."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        self._lines = lines(path, blank=True)

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        if isinstance(line, Line):
            self.number = line.number
            return line.text + "\n"
        raise InputError([Problem(self.path, line.line, line.reason)])


def _header(path: Path, cells: list[str]) -> list[str]:
    for name in cells:
        if cells.count(name) > 1:
            raise InputError([Problem(path, 1, f"the header names the column {name!r} twice")])
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
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def parquet_rows(path: Path) -> Iterator[tuple[dict[str, Any], int] | Reject]:
    """Yield the rows of a Parquet file and their numbers, from 1.

    Maps and structs become dictionaries without null values.

    Raises:
        InputError: The file is not Parquet.
    """
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with opened(path) as file:
            packed = path.suffix.lower() in COMPRESSED
            seekable = io.BytesIO(file.read()) if packed else file
            number = 0
            for batch in parquet.ParquetFile(seekable).iter_batches(1000):
                for row in batch.to_pylist(maps_as_pydicts="strict"):
                    number += 1
                    yield {name: _plain(value) for name, value in row.items()}, number
    except (pa.ArrowException, KeyError) as error:
        raise InputError([Problem(path, None, f"not Parquet: {error}")]) from error


def _plain(value: object) -> Any:
    match value:
        case dict():
            return {key: _plain(each) for key, each in value.items() if each is not None}
        case list():
            return [_plain(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)
