"""Reads a JSON list or object element by element, within bounded memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN
from warehouse.formats.readers.files import texts
from warehouse.formats.readers.limits import LONGEST_ROW, too_long
from warehouse.formats.readers.strict_json import NotJsonError, skip_whitespace, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_AHEAD: Final = LONGEST_ROW + 100
"""The characters after the current position that are held; the longest row and some more, so that a
token that ends with them is part of a row that is too long."""


@dataclass(frozen=True, slots=True)
class Member:
    """An element of a JSON list, or a member of a JSON object.

    Attributes:
        name: The key; null in a list.
        value: The value.
        line: The line, from 1, where it begins.
        text: Its beginning in the file.
        length: The length of the value in characters.
    """

    name: str | None
    value: Any
    line: int
    text: str
    length: int


class JsonStream:
    """The members of a JSON file with one list or object.

    Attributes:
        beginning: The beginning of the file, as soon as the first member is read.
    """

    def __init__(self, path: Path) -> None:
        self.beginning = ""
        self._path = path
        self._parts = texts(path)
        self._text = ""
        self._at = 0
        self._line = 1
        self._is_complete = False

    def __iter__(self) -> Iterator[Member]:
        """Yield the members; none if the file is empty.

        Raises:
            InputError: The file cannot be read, is not one JSON list or object, or has a member
                that is too long; names the line.
        """
        try:
            yield from self._members()
        except NotJsonError as error:
            line = self._line + self._text.count("\n", self._at, error.position)
            raise InputError([Problem(self._path, line, f"not JSON: {error}")]) from None

    def _members(self) -> Iterator[Member]:
        opening = self._next()
        self.beginning = self._text[:SHOWN]
        if not opening:
            return
        if opening not in {"[", "{"}:
            raise NotJsonError("expected a list or an object", self._at)
        closing = "]" if opening == "[" else "}"
        self._advance(self._at + 1)
        if self._next() == closing:
            self._advance(self._at + 1)
        else:
            yield from self._elements(closing)
        if self._next():
            raise NotJsonError("expected the end", self._at)

    def _elements(self, closing: str) -> Iterator[Member]:
        delimiter = ","
        while delimiter == ",":
            self._next()
            line, text = self._line, self._text[self._at : self._at + SHOWN]
            name = self._key() if closing == "}" else None
            value, length = self._value()
            yield Member(name, value, line, text, length)
            delimiter = self._next()
            if delimiter not in {",", closing}:
                raise NotJsonError(f"expected ',' or {closing!r}", self._at)
            self._advance(self._at + 1)

    def _key(self) -> str:
        if self._next() != '"':
            raise NotJsonError("expected a key in double quotes", self._at)
        key, _ = self._value()
        if self._next() != ":":
            raise NotJsonError("expected ':'", self._at)
        self._advance(self._at + 1)
        self._next()
        return str(key)

    def _value(self) -> tuple[Any, int]:
        """Return the value at the position and its length, and move to its end."""
        begin = self._at
        try:
            value, end = value_at(self._text, begin)
        except NotJsonError as error:
            is_cut = "unterminated string" in str(error) or error.position - begin > LONGEST_ROW
            if is_cut and not self._is_complete:
                raise self._too_long() from None
            raise
        if end - begin > LONGEST_ROW:
            raise self._too_long()
        self._advance(end)
        return value, end - begin

    def _too_long(self) -> InputError:
        return InputError([Problem(self._path, self._line, too_long("the value that begins here"))])

    def _next(self) -> str:
        """Move to the next character that is not whitespace and return it; empty at the end."""
        while True:
            self._read_ahead()
            self._advance(skip_whitespace(self._text, self._at))
            if self._at < len(self._text) or self._is_complete:
                self._read_ahead()
                return self._text[self._at : self._at + 1]

    def _advance(self, position: int) -> None:
        self._line += self._text.count("\n", self._at, position)
        self._at = position

    def _read_ahead(self) -> None:
        if self._is_complete or len(self._text) - self._at >= _AHEAD:
            return
        held = [self._text[self._at :]]
        length = len(held[0])
        for part in self._parts:
            held.append(part)
            length += len(part)
            if length >= 2 * _AHEAD:
                break
        else:
            self._is_complete = True
        self._text, self._at = "".join(held), 0
