"""Reads rows of Excel workbooks: the cells of a sheet as the texts that a CSV file would have."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET
from xml.parsers.expat import ExpatError

from records.packages import install_command
from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.cells.worksheet import cells as cells_of
from warehouse.formats.readers.cells.worksheet import letters, shared_lengths
from warehouse.formats.readers.files import content
from warehouse.formats.readers.limits import (
    LONGEST_FILE,
    LONGEST_ROW,
    MAX_CELLS,
    MAX_FIELDS,
    MIB,
    too_long,
    too_many_fields,
)
from warehouse.formats.readers.strict_json import first_repeated
from warehouse.formats.readers.tabular import read_cells

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from warehouse.formats.readers.field_names import FieldNames
    from warehouse.formats.readers.tabular import Shape

_PARTS: Final = re.compile(
    r"\[Content_Types\]\.xml|_rels/.*|xl/[^/]+\.xml|xl/(_rels|worksheets)/.*"
)
"""What of a workbook holds cells; pictures and the like are left out."""

_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, ET.ParseError, KeyError, ValueError),
    *(EOFError, NotImplementedError, RuntimeError, OSError, ExpatError),
)


def excel_rows(
    path: Path, shape: Shape, names: FieldNames | None = None
) -> Iterator[tuple[dict[str, Any], int] | Reject]:
    """Yield the rows of the first visible sheet of a workbook, with their numbers in it.

    Its first row that is not empty is the header. Empty rows and cells are absent. Numbers, dates
    and the stored results of formulas become texts as in CSV, and are parsed like them.

    Raises:
        InputError: The file is no workbook or has a password, it is too large, its header names a
            column twice or lacks a column, or the reader of Excel files is not installed.
    """
    try:
        from python_calamine import (
            CalamineError,
            CalamineWorkbook,
            SheetTypeEnum,
            SheetVisibleEnum,
        )
    except ImportError as error:
        message = f"Excel files need {install_command('excel')}"
        raise InputError([Problem(path, None, message)]) from error
    try:
        parts = _parts(path)
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(_packed(parts)))
        visible = [
            each.name
            for each in workbook.sheets_metadata
            if each.visible == SheetVisibleEnum.Visible and each.typ == SheetTypeEnum.WorkSheet
        ]
        if workbook.sheets_metadata and not visible:
            raise InputError([Problem(path, None, "the workbook has no visible sheet")])
        faults = _faults(path, parts, next(iter(visible), ""))
        sheet = workbook.get_sheet_by_name(visible[0])
    except (*_DAMAGE, CalamineError) as error:
        said = "not an Excel workbook, or one that is damaged or has a password"
        raise InputError([Problem(path, None, f"{said}: {error}")]) from error
    if len(visible) > 1 and names is not None:
        others = ", ".join(repr(name) for name in visible[1:])
        names.notes.append(f"the first sheet, {visible[0]!r}, is read, not {others}")
    header: list[str] | None = None
    number = 0
    first_column = sheet.start[1] if sheet.start else 0  # rows begin with the first of the sheet
    for number, values in enumerate(sheet.iter_rows(), start=1):
        cells = [_text(value) for value in values]
        if header is None:
            if any(map(str.strip, cells)) or number in faults:
                header = _header(path, cells, number, names, faults.get(number))
            continue
        if not any(cells) and number not in faults:
            continue
        reason = faults.get(number) or _row_fault(header, cells, first_column)
        if reason is not None:
            yield Reject(number, reason, ",".join(cells)[:SHOWN])
            continue
        given = zip(header, cells, strict=True)
        yield read_cells({name: cell for name, cell in given if cell}, number, shape, names)
    yield from (Reject(row, faults[row], "") for row in sorted(faults) if row > number)


def _header(
    path: Path, cells: list[str], line: int, names: FieldNames | None, fault: str | None
) -> list[str]:
    named = [cell for cell in cells if cell.strip()]
    reason = fault or too_many_fields(len(named))
    twice = first_repeated(named)
    if twice is not None:
        reason = f"the header names the column {twice!r} twice"
    if reason is not None:
        raise InputError([Problem(path, line, reason)])
    if names is not None:
        names.check_header(named, line)
    return cells


def _row_fault(header: list[str], cells: list[str], first_column: int) -> str | None:
    for at, (name, cell) in enumerate(zip(header, cells, strict=True)):
        if cell and not name.strip():
            column = letters(first_column + at + 1)
            return f"column {column} has no name in the header, but the value {cell[:60]!r}"
    return too_long("the row") if sum(map(len, cells)) > LONGEST_ROW else None


def _text(value: object) -> str:
    """Return a cell as CSV would write it."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 1e15:  # noqa: PLR2004 - digits of Excel
            return str(int(value))
        case float():
            return repr(value)
        case datetime() | date() | time():
            return value.isoformat()
    return str(value)


def _parts(path: Path) -> dict[str, bytes]:
    """Return the parts of a workbook that hold cells.

    Raises:
        InputError: They are too large.
    """
    with zipfile.ZipFile(io.BytesIO(content(path))) as archive:
        wanted = [each for each in archive.infolist() if _PARTS.fullmatch(each.filename)]
        if len({each.filename.lower() for each in wanted}) < len(wanted):
            raise zipfile.BadZipFile("two parts have the same name")
        if sum(each.file_size for each in wanted) > LONGEST_FILE:
            message = f"the workbook expands to more than {LONGEST_FILE // MIB} MiB, split it"
            raise InputError([Problem(path, None, message)])
        return {each.filename: archive.read(each) for each in wanted}


def _packed(parts: Mapping[str, bytes]) -> bytes:
    """Return a workbook of these parts only, whose sizes are what they are."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return packed.getvalue()


@dataclass(slots=True)
class _Extent:
    """The rows and columns up to the last value, which the reader keeps, and the texts in them."""

    rows: int = 0
    columns: int = 0
    length: int = 0

    def add(self, row: int, column: int, length: int) -> None:
        """Extend it to a cell."""
        self.rows = max(self.rows, row)
        self.columns = max(self.columns, column)
        self.length += length

    @property
    def fault(self) -> str | None:
        """The reason why it is too large; null if it is not."""
        if self.columns > MAX_FIELDS or self.rows * self.columns > MAX_CELLS:
            return (
                f"the values spread over {self.rows:,} rows and {self.columns:,} columns, at most "
                f"{MAX_CELLS:,} cells and {MAX_FIELDS:,} columns are read"
            )
        if self.length > LONGEST_FILE:
            return f"the cells hold more than {LONGEST_FILE // MIB} MiB of text, split the workbook"
        return None


def _faults(path: Path, parts: Mapping[str, bytes], sheet: str) -> dict[int, str]:
    """Return, by row from 1, why a cell of it has no value.

    Raises:
        InputError: The values spread over too many cells, or repeat too long texts.
    """
    shared = shared_lengths(_shared(parts))
    extent = _Extent()
    faults: dict[int, str] = {}
    for cell in cells_of(parts[_sheet_part(parts, sheet)]):
        place = f"cell {letters(cell.column)}{cell.row}"
        length = len(cell.text)
        # A formula may have an empty text as its result.
        if cell.has_formula and not cell.text and (not cell.has_value or cell.kind != "str"):
            said = "a formula without a stored result: open and save the file in a spreadsheet"
            faults.setdefault(cell.row, f"{place}: {said}")
        elif cell.kind == "e":
            said = f"the formula gives the error {cell.text[:SHOWN]}"
            faults.setdefault(cell.row, f"{place}: {said}")
        elif cell.kind == "s" and cell.text:
            if not (cell.text.isascii() and cell.text.isdecimal()):
                raise ValueError(f"expected the number of a text, found {cell.text[:SHOWN]!r}")
            at = int(cell.text)
            length = shared[at] if at < len(shared) else 0
        if cell.has_value:
            extent.add(cell.row, cell.column, length + 1)
    if extent.fault is not None:
        raise InputError([Problem(path, None, extent.fault)])
    return faults


def _shared(parts: Mapping[str, bytes]) -> bytes:
    named = {name.lower(): part for name, part in parts.items()}
    return named.get("xl/sharedstrings.xml", b"<sst/>")


def _sheet_part(parts: Mapping[str, bytes], sheet: str) -> str:
    """Return the name of the part with the cells of a sheet.

    Raises:
        ValueError: It is not clear which part that is.
    """
    book = ET.fromstring(parts["xl/workbook.xml"])  # noqa: S314 - expat limits entities
    relations = [
        value
        for each in book.iter()
        if _local(each.tag) == "sheet" and each.get("name") == sheet
        for name, value in each.attrib.items()
        if _local(name) == "id"
    ]
    links = ET.fromstring(parts["xl/_rels/workbook.xml.rels"])  # noqa: S314 - likewise
    targets = [each.get("Target", "") for each in links.iter() if each.get("Id") in relations]
    if len(relations) != 1 or len(targets) != 1:
        raise ValueError(f"it is not clear which part has the cells of the sheet {sheet!r}")
    (target,) = targets
    return target.lstrip("/") if target.startswith("/") else f"xl/{target}"


def _local(name: str) -> str:
    return name.rpartition("}")[2]
