"""Reads YAML files as JSON types: no tags, no dates, bounded depth and size."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import yaml

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN
from warehouse.formats.readers.files import whole
from warehouse.formats.readers.limits import FREE_EXPANSION, MAX_DEPTH, MIB

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_YAML: Final = 64 * MIB
"""The maximum length of a YAML file; reading one takes some 20 times as long as JSON."""

_WHOLE: Final = re.compile(r"[-+]?[0-9]+")
_NUMBER: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    # As in JSON, in which writers put null for them.
    **dict.fromkeys((".nan", ".NaN", ".NAN", ".inf", ".Inf", "-.inf", "-.Inf", "+.inf"), None),
}


@dataclass(slots=True)
class _Open:
    """A list or object that is being read."""

    value: dict[str, Any] | list[Any]
    anchor: str | None
    begin: int
    size: int = 1
    key: str | None = None


@dataclass(slots=True)
class YamlFile:
    """The value of a YAML file.

    Attributes:
        value: The value, of JSON types; aliases share it.
        text: The text of the file.
        begins: Where objects begin in the text, and their lines, by the `id` of the object.
    """

    value: Any
    text: str
    begins: dict[int, tuple[int, int]] = field(default_factory=dict)

    def line(self, value: object) -> int | None:
        """Return the line of an object."""
        return self.begins.get(id(value), (0, None))[1]

    def shown(self, value: object) -> str:
        """Return the beginning of an object in the file."""
        begin = self.begins.get(id(value), (0, 0))[0]
        return self.text[begin : begin + SHOWN]


def read_yaml(path: Path) -> YamlFile:
    """Read a YAML file with one document, whose tags and dates are texts.

    Raises:
        InputError: The file cannot be read, is not YAML or too long, is nested too deep, repeats a
            key, or repeats so much by aliases that it would be too long.
    """
    text = whole(path)
    if len(text) > LONGEST_YAML:
        said = f"the file is longer than {LONGEST_YAML // MIB} MiB: write it as JSON"
        raise InputError([Problem(path, None, said)])
    reader = _Reader(path, text)
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    try:
        for event in yaml.parse(text, loader):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = ", ".join(part for part in (error.context, error.problem) if part)
        line = None if mark is None else mark.line + 1
        raise InputError([Problem(path, line, f"not YAML: {said}")]) from None
    except yaml.YAMLError as error:
        raise InputError([Problem(path, None, f"not YAML: {error}")]) from None
    return reader.file


class _Reader:
    """Builds values from the events of a parser."""

    def __init__(self, path: Path, text: str) -> None:
        self.file = YamlFile(None, text)
        self._path = path
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._documents = 0

    def take(self, event: Any) -> None:
        """Take the next event."""
        match event:
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise self._wrong(event, "expected one document, found several")
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                if len(self._open) >= MAX_DEPTH:
                    raise self._wrong(event, f"values are nested more than {MAX_DEPTH} deep")
                is_object = isinstance(event, yaml.MappingStartEvent)
                mark: Any = event.start_mark
                opened = _Open({} if is_object else [], event.anchor, mark.index)
                if is_object:
                    self.file.begins[id(opened.value)] = (mark.index, mark.line + 1)
                self._open.append(opened)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = self._open.pop()
                self._add(event, done.value, done.size, done.anchor)
            case yaml.AliasEvent():
                if event.anchor not in self._anchors:
                    raise self._wrong(event, f"there is no finished value {event.anchor!r}")
                self._add(event, *self._anchors[event.anchor], None)
            case yaml.ScalarEvent():
                is_plain = event.implicit[0] and not event.tag
                value = _plain(event.value) if is_plain else event.value
                self._add(event, value, 1 + len(event.value), event.anchor)

    def _add(self, event: Any, value: Any, size: int, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, size)
        if not self._open:
            self.file.value = value
            return
        within = self._open[-1]
        within.size += size
        if within.size > FREE_EXPANSION:
            raise self._wrong(event, f"aliases repeat more than {FREE_EXPANSION // MIB:,} MiB")
        if isinstance(within.value, list):
            within.value.append(value)
        elif within.key is None:
            within.key = self._key(event, within.value)
        else:
            within.value[within.key] = value
            within.key = None

    def _key(self, event: Any, within: dict[str, Any]) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise self._wrong(event, "expected text as the key")
        if event.value in within:
            raise self._wrong(event, f"the key {event.value[:60]!r} is given twice")
        return str(event.value)

    def _wrong(self, event: Any, said: str) -> InputError:
        return InputError([Problem(self._path, event.start_mark.line + 1, f"not YAML: {said}")])


def _plain(text: str) -> Any:
    """Return the value of a text without quotes: null, true, false, a number, or the text."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text) if len(text) <= 300 else text  # noqa: PLR2004 - longer is not a number
    if _NUMBER.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else text
    return text
