"""The cells of an Excel worksheet, found before a reader makes room for their rows and columns.

References to characters stay as they are written (`&#65;`), because the reader ignores attributes
that have one. So entities expand nowhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_ROW: Final = re.compile(r"[1-9][0-9]{0,6}")
_PLACE: Final = re.compile(rf"([A-Za-z]{{1,3}})({_ROW.pattern})")
_PIECE: Final = 2**16
"""The number of bytes that are parsed at a time."""


@dataclass(slots=True)
class Cell:
    """A cell that is not empty; rows and columns count from 1.

    Attributes:
        row: Its row.
        column: Its column.
        kind: Its type, such as `s` for a shared text and `e` for an error.
        has_value: Whether the reader makes room for it.
        has_formula: Whether it has a formula.
        text: Its value as written.
    """

    row: int
    column: int
    kind: str
    has_value: bool = False
    has_formula: bool = False
    text: str = ""


def cells(sheet: bytes) -> Iterator[Cell]:
    """Yield the cells of a worksheet.

    Raises:
        ValueError: Rows or cells are not where they belong, or a place is not like `A1`.
        ExpatError: It is not valid XML.
    """
    state = _Sheet([])
    for _ in _parsed(sheet, state):
        yield from state.found
        state.found.clear()


def shared_lengths(part: bytes) -> list[int]:
    """Return the lengths of the texts that cells share.

    Raises:
        ValueError: Texts are nested in each other.
        ExpatError: It is not valid XML.
    """
    state = _SharedTexts([])
    for _ in _parsed(part, state):
        pass
    return state.lengths


def number(letters: str) -> int:
    """Return the number of a column, from 1."""
    value = 0
    for letter in letters.upper():
        value = 26 * value + ord(letter) - ord("A") + 1
    return value


def letters(column: int) -> str:
    """Return the letters of a column from 1."""
    named = ""
    while column:
        column, digit = divmod(column - 1, 26)
        named = chr(ord("A") + digit) + named
    return named


def _parsed(part: bytes, state: _Sheet | _SharedTexts) -> Iterator[None]:
    """Parse XML, and stop after each piece."""
    parser = expat.ParserCreate("UTF-8")  # as the reader, whatever the declaration says
    parser.buffer_text = True
    parser.StartElementHandler = _local(state.start)
    parser.EndElementHandler = lambda name: state.end(name.rpartition(":")[2])
    parser.CharacterDataHandler = state.add
    # The reader takes only what stands before them as the number of a shared text.
    parser.CommentHandler = lambda _: state.add("&")
    parser.ProcessingInstructionHandler = lambda *_: state.add("&")
    parser.StartCdataSectionHandler = lambda: state.add("&")
    parser.StartDoctypeDeclHandler = _refuse_doctype
    part = part.replace(b"&", b"&amp;")
    for begin in range(0, len(part), _PIECE):
        parser.Parse(part[begin : begin + _PIECE], False)
        yield
    parser.Parse(b"", True)
    yield


def _local(start: Callable[[str, dict[str, str]], None]) -> Callable[[str, dict[str, str]], None]:
    return lambda name, attributes: start(name.rpartition(":")[2], attributes)


def _refuse_doctype(*_: Any) -> NoReturn:
    raise ValueError("a part of the workbook has a DOCTYPE")


@dataclass(slots=True)
class _Sheet:
    """The state of parsing a worksheet; `row` and `column` are the place of the next cell."""

    found: list[Cell]
    depth: int | None = None  # below `sheetData`; null outside
    is_over: bool = False
    row: int = 1
    column: int = 1
    cell: Cell | None = None
    pieces: list[str] = field(default_factory=list)  # of the value of the cell
    is_value: bool = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self.depth is None:
            if name == "sheetData" and not self.is_over:
                self.depth = 0
            return
        if name in _LEVELS and _LEVELS[name] != self.depth:
            raise ValueError(f"an element {name!r} of the sheet is not where it belongs")
        match name:
            case "row":
                written = attributes.get("r")
                if written is not None:
                    if not _ROW.fullmatch(written):
                        raise ValueError(f"expected the number of a row, found {written[:60]!r}")
                    self.row = int(written)
            case "c":
                self.cell = self._cell(attributes)
            case "f" if self.cell is not None:
                self.cell.has_formula = True
            case "v" | "is" if self.cell is not None:
                self.cell.has_value = self.is_value = True
        self.depth += 1

    def _cell(self, attributes: dict[str, str]) -> Cell:
        written, kind = attributes.get("r"), attributes.get("t", "")
        if "&" in kind:
            raise ValueError(f"expected the type of a cell, found {kind[:60]!r}")
        row = self.row
        if written is not None:
            place = _PLACE.fullmatch(written)
            if place is None:
                raise ValueError(f"expected the place of a cell such as A1, found {written[:60]!r}")
            self.column, row = number(place[1]), int(place[2])
        return Cell(row, self.column, kind)

    def end(self, name: str) -> None:
        if self.depth is None:
            return
        if self.depth == 0:
            self.depth, self.is_over = None, True
            return
        self.depth -= 1
        match name:
            case "row":
                self.row, self.column = self.row + 1, 1
            case "c" if self.cell is not None:
                self.cell.text = "".join(self.pieces)
                if self.cell.has_value or self.cell.has_formula:
                    self.found.append(self.cell)
                self.pieces.clear()
                self.cell = None
                self.column += 1
            case "v" | "is" if self.depth == _LEVELS["c"] + 1:
                self.is_value = False

    def add(self, text: str) -> None:
        if self.is_value:
            self.pieces.append(text)


_LEVELS: Final = {"sheetData": -1, "row": 0, "c": 1}
"""How deep below `sheetData` the elements stand that give places."""


@dataclass(slots=True)
class _SharedTexts:
    lengths: list[int]
    length: int | None = None  # of the text that is read; null between texts

    def start(self, name: str, _: dict[str, str]) -> None:
        if name == "si":
            if self.length is not None:
                raise ValueError("shared texts are nested in each other")
            self.length = 0

    def end(self, name: str) -> None:
        if name == "si" and self.length is not None:
            self.lengths.append(self.length)
            self.length = None

    def add(self, text: str) -> None:
        if self.length is not None:
            self.length += len(text)
