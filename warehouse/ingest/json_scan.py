"""A glance at JSON Lines: whether all rows of a file have the form of the first ones.

One regular expression over the bytes of the file tells that as fast as they can be read. It spares
ordinary files the closer look that says what is unusual about a row.
"""

from __future__ import annotations

import os
import re
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from warehouse.formats.readers.files import LONGEST_LINE
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.ingest.fast_path_rules import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from io import FileIO
    from pathlib import Path

    from warehouse.ingest.fast_path_rules import Field


HEAD: Final = 200
"""The rows from which the form is taken."""

PIECE: Final = 1 << 20
"""The bytes that are looked at together; no line may be longer. Small enough for a cache."""

_TYPES: Final = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", list: "ARRAY", dict: "OBJECT"}


@dataclass(frozen=True, slots=True)
class Seen:
    """What there is in a file of JSON Lines.

    Attributes:
        types: For each known field that occurs, the types that it has, as DuckDB names them.
        names: All fields that occur.
        retrieved: The members of retrieved documents; null: not looked at.
        longest: The bytes that no line exceeds.
    """

    types: dict[str, set[str]]
    names: set[str]
    retrieved: frozenset[str] | None = None
    longest: int = LONGEST_LINE

    @property
    def others(self) -> tuple[str, ...]:
        """The fields that no name is for."""
        return tuple(sorted(self.names - self.types.keys()))


def glance(path: Path, expected: Mapping[str, Field]) -> Seen | None:
    """What there is in a file, if all its rows have the form of its first ones.

    Args:
        path: A file of JSON Lines, not compressed.
        expected: The known fields.

    Returns:
        Null when that takes a closer look, for whatever reason.
    """
    try:
        with path.open("rb") as file:
            head = [decode(line.decode()) for line in islice(file, HEAD)]
        if not head or not all(isinstance(row, dict) for row in head):
            return None
        form = row_form(head, expected)
        with path.open("rb", buffering=0) as file:
            matches = _Matching(file, rf"\A(?:{form}{SPACE}\r?\n)*\z").run()
    except (OSError, UnicodeDecodeError, NotJsonError, Formless):
        return None
    return _seen(head, expected) if matches else None


class _Matching:
    """Holds a file against an expression, piece by piece, in several threads."""

    def __init__(self, file: FileIO, pattern: str) -> None:
        self._file = file
        self._pattern = pattern
        self._taking = Lock()
        self._begun = b""
        self._failed = False

    def run(self) -> bool:
        """Whether every piece matches; looked at by as many threads as there are cores."""
        number = os.cpu_count() or 1
        with ThreadPoolExecutor(number) as workers:
            list(workers.map(lambda _: self._work(), range(number)))
        return not self._failed

    def _work(self) -> None:
        piece = bytearray(PIECE)
        try:
            while not self._failed and (length := self._take(piece)):
                # Bytes and not text: whether they are UTF-8 is told when they are parsed.
                buffers = [None, pa.py_buffer(struct.pack("=ii", 0, length)), pa.py_buffer(piece)]
                line = pa.Array.from_buffers(pa.binary(), 1, buffers)
                if not pc.match_substring_regex(line, self._pattern)[0].as_py():
                    self._failed = True
        except BaseException:
            self._failed = True
            raise

    def _take(self, piece: bytearray) -> int:
        """Fill a piece with whole lines; the number of bytes, 0 at the end of the file."""
        with self._taking:
            filled = len(self._begun)
            piece[:filled] = self._begun
            with memoryview(piece) as view:
                # One byte stays free for the end of a last line that has none.
                while more := self._file.readinto(view[filled:-1]):
                    filled += more
            length = piece.rfind(b"\n", 0, filled) + 1
            if not length and filled == PIECE - 1:
                raise Formless
            if not length and filled:
                piece[filled] = ord("\n")
                length = filled = filled + 1
            self._begun = bytes(piece[length:filled])
            return length


def _seen(head: Sequence[Mapping[str, Any]], expected: Mapping[str, Field]) -> Seen:
    names = {name for row in head for name in row}
    types = {
        name: {_TYPES[type(row[name])] for row in head if row.get(name) is not None}
        for name in expected
        if name in names
    }
    documents = (each for row in head for each in row.get("retrieved") or ())
    return Seen(types, names, frozenset(name for each in documents for name in each), PIECE)


SPACE: Final = r"[ \t]*"
_COMMA: Final = f"{SPACE},{SPACE}"
_NULL: Final = "null"
_TEXT: Final = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_KEY: Final = r'"[^"\\\x00-\x1f]+"'
_COUNT: Final = r"(?:0|[1-9][0-9]{0,17})"
_WHOLE: Final = r"(?:0|-?[1-9][0-9]{0,17})"
# Few enough digits that every value is finite.
_NUMBER: Final = r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?"
_SCALAR: Final = f"(?:{_TEXT}|{_NUMBER}|true|false|null)"
_PLAIN_KEY: Final = re.compile(r"[\w .:/-]+", re.ASCII)

RETRIEVED: Final[Mapping[str, str]] = {
    "doc_id": f"(?:{_TEXT}|{_COUNT}|null)",
    "chunk_id": f"(?:{_TEXT}|{_COUNT}|null)",
    "rank": f"(?:{_WHOLE}|null)",
    "score": f"(?:{_NUMBER}|null)",
    "text": f"(?:{_TEXT}|null)",
}
"""The members of a retrieved document."""


class Formless(Exception):  # noqa: N818 - not a failure
    """Rows have no form that a regular expression could describe."""


def row_form(rows: Sequence[Mapping[str, Any]], expected: Mapping[str, Field]) -> str:
    """The form of some rows: a regular expression for a row of JSON.

    Args:
        rows: Some rows of a file, the first perhaps.
        expected: The fields that are known, with their types.

    Returns:
        An expression that matches rows with no other fields than these, in the same order, and
        with values of the same types, or null. A field may be missing that some row lacks.

    Raises:
        Formless: There is none.
    """

    def form(name: str, values: Iterable[Any]) -> str:
        return _field(name, expected[name], values) if name in expected else _SCALAR

    return _object(rows, form)


def _object(rows: Sequence[Mapping[str, Any]], form: Callable[[str, Iterable[Any]], str]) -> str:
    longest = max(rows, key=len)
    order = list(longest)
    # The first must always be there, so that each of the others can stand behind a comma.
    if not order or any(order[0] not in row for row in rows):
        raise Formless
    members: list[str] = []
    for name in order:
        if not _PLAIN_KEY.fullmatch(name):
            raise Formless
        values = [row[name] for row in rows if name in row]
        member = f'"{re.escape(name)}"{SPACE}:{SPACE}{form(name, values)}'
        if members:
            member = f"{_COMMA}{member}"
        members.append(member if len(values) == len(rows) else f"(?:{member})?")
    return rf"\{{{SPACE}{''.join(members)}{SPACE}\}}"


def _field(name: str, field: Field, values: Iterable[Any]) -> str:
    given = [value for value in values if value is not None]
    if name == "retrieved":
        forms = {_list(_retrieved(given))}
    else:
        forms = {_value(field, type(value)) for value in given}
    return f"(?:{'|'.join(sorted({*forms, _NULL}))})"


def _value(field: Field, kind: type) -> str:
    """The form of the values of a field that are of one kind."""
    if kind is list:
        parts = field.parts.get("[*]")
        if parts is None or "[*][*]" in field.parts:
            raise Formless
        return _list(_of(parts))
    if kind is dict:
        parts = field.parts.get(".*")
        if parts is None or len(field.parts) > 1:
            raise Formless
        member = f"{_KEY}{SPACE}:{SPACE}{_of(parts)}"
        return rf"\{{{SPACE}(?:{member}(?:{_COMMA}{member})*{SPACE})?\}}"
    if kind is str and field.types >= TEXT:
        return _TEXT
    if kind in (int, float) and field.types - TEXT:
        return _of(field.types - TEXT)
    raise Formless


def _of(types: Collection[str]) -> str:
    """The form of a value of any of some types."""
    found = set()
    for type_ in types:
        match type_:
            case "VARCHAR":
                found.add(_TEXT)
            case "DOUBLE":
                found.add(_NUMBER)
            case "BIGINT" | "UBIGINT":
                pass
            case "BOOLEAN":
                found |= {"true", "false"}
            case "NULL":
                found.add(_NULL)
            case _:
                raise Formless
    if "DOUBLE" not in types and "UBIGINT" in types:
        found.add(_WHOLE if "BIGINT" in types else _COUNT)
    return f"(?:{'|'.join(sorted(found))})"


def _retrieved(lists: Iterable[Any]) -> str:
    documents = [document for each in lists if isinstance(each, list) for document in each]
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise Formless
    return _object(documents, lambda name, _: RETRIEVED.get(name, _SCALAR))


def _list(element: str) -> str:
    return rf"\[{SPACE}(?:{element}(?:{_COMMA}{element})*{SPACE})?\]"
