"""A glance at JSON Lines: whether all rows of a file have the form of the first ones.

One regular expression over the bytes of the file tells that as fast as they can be read. It spares
ordinary files the closer look that says what is unusual about a row.
"""

from __future__ import annotations

import os
import struct
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from warehouse.formats.files import LONGEST_LINE
from warehouse.formats.strict_json import NotJsonError, decode
from warehouse.forms import SPACE, Formless, row_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from io import FileIO
    from pathlib import Path

    from warehouse.usual import Field

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
