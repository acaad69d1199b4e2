"""Finds the elements of lists deep inside a JSON file, each with its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN
from warehouse.formats.readers.error_messages import found
from warehouse.formats.readers.files import whole
from warehouse.formats.readers.strict_json import NotJsonError, decode, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Element:
    """A value in a JSON file.

    Attributes:
        value: The value.
        begin: The character, from 0, at which it begins.
    """

    value: Any
    begin: int


class NestedJson:
    """A JSON file that is one object, with the places of what it holds.

    Raises:
        InputError: The file cannot be read, or is not one JSON object; names the line.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = whole(path)
        self._counted = (0, 1)
        try:
            value = decode(self.text)
        except NotJsonError as error:
            raise self.wrong(f"not JSON: {error}", error.position) from None
        if not isinstance(value, dict):
            raise self.wrong(f"expected a JSON object, found {found(value)}", 0)
        self.root = Element(value, self._behind_blank(0))

    def wrong(self, message: str, begin: int) -> InputError:
        """An error about what begins at a character."""
        return InputError([Problem(self.path, self.line(begin), message)])

    def line(self, begin: int) -> int:
        """The line, from 1, of a character."""
        # Elements come in order: the lines before the last one asked for are counted already.
        if begin < self._counted[0]:
            self._counted = (0, 1)
        reached, line = self._counted
        self._counted = (begin, line + self.text.count("\n", reached, begin))
        return self._counted[1]

    def shown(self, element: Element) -> str:
        """The beginning of an element as it stands in the file."""
        return self.text[element.begin : element.begin + SHOWN]

    def member(self, element: Element, name: str) -> Element | None:
        """A member of an element that is an object; null when it has none of this name."""
        if not isinstance(element.value, dict) or name not in element.value:
            return None
        position = self._behind_blank(element.begin + 1)
        while True:
            key, position = value_at(self.text, position)
            position = self._behind_blank(self._behind_blank(position) + 1)
            if key == name:
                return Element(element.value[name], position)
            _, position = value_at(self.text, position)
            position = self._behind_blank(self._behind_blank(position) + 1)

    def elements(self, element: Element) -> Iterator[Element]:
        """The elements of an element that is a list."""
        position = self._behind_blank(element.begin + 1)
        for value in element.value:
            yield Element(value, position)
            _, position = value_at(self.text, position)
            position = self._behind_blank(self._behind_blank(position) + 1)

    def _behind_blank(self, position: int) -> int:
        while position < len(self.text) and self.text[position] in _BLANK:
            position += 1
        return position
