"""Finds elements of nested lists in a JSON file, with their lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from records.error_messages import found
from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN
from warehouse.formats.readers.files import whole
from warehouse.formats.readers.strict_json import NotJsonError, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WHITESPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Element:
    """A value in a JSON file and the position of its first character, from 0."""

    value: Any
    begin: int


class NestedJson:
    """A JSON file with one object, or several ones, and the positions of their elements.

    Attributes:
        root: The object; the first one of several.
        roots: All objects.

    Raises:
        InputError: The file cannot be read, or is not one JSON object, or `several` one after
            another; names the line.
    """

    def __init__(self, path: Path, *, several: bool = False) -> None:
        self.path = path
        self.text = whole(path)
        self._counted = (0, 1)
        self.roots: list[Element] = []
        position = self._skip_whitespace(0)
        while position < len(self.text) or not self.roots:
            begin = position
            if self.roots and not several:
                raise self.wrong("not JSON: expected the end", begin)
            try:
                value, position = value_at(self.text, begin)
            except NotJsonError as error:
                raise self.wrong(f"not JSON: {error}", error.position) from None
            if not isinstance(value, dict):
                raise self.wrong(f"expected a JSON object, found {found(value)}", begin)
            self.roots.append(Element(value, begin))
            position = self._skip_whitespace(position)
        self.root = self.roots[0]

    def wrong(self, message: str, begin: int) -> InputError:
        """Return an error about the element at a position."""
        return InputError([Problem(self.path, self.line(begin), message)])

    def line(self, begin: int) -> int:
        """Return the line, from 1, of a position."""
        # Elements come in order, so the lines before the previous one need no second count.
        if begin < self._counted[0]:
            self._counted = (0, 1)
        reached, line = self._counted
        self._counted = (begin, line + self.text.count("\n", reached, begin))
        return self._counted[1]

    def shown(self, element: Element) -> str:
        """Return the beginning of an element in the file."""
        return self.text[element.begin : element.begin + SHOWN]

    def member(self, element: Element, name: str) -> Element | None:
        """Return a member of an object by name; null if there is none."""
        if not isinstance(element.value, dict) or name not in element.value:
            return None
        position = self._skip_whitespace(element.begin + 1)
        while True:
            key, position = value_at(self.text, position)
            position = self._skip_whitespace(self._skip_whitespace(position) + 1)
            if key == name:
                return Element(element.value[name], position)
            _, position = value_at(self.text, position)
            position = self._skip_whitespace(self._skip_whitespace(position) + 1)

    def elements(self, element: Element) -> Iterator[Element]:
        """Yield the elements of a list."""
        position = self._skip_whitespace(element.begin + 1)
        for value in element.value:
            yield Element(value, position)
            _, position = value_at(self.text, position)
            position = self._skip_whitespace(self._skip_whitespace(position) + 1)

    def _skip_whitespace(self, position: int) -> int:
        while position < len(self.text) and self.text[position] in _WHITESPACE:
            position += 1
        return position
