"""YAML text as plain values that remember the line on which each of them stands."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from orchestration.errors import Fault, SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

Step = str | int


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one YAML file.

    Attributes:
        file: The file, as the user named it.
        content: Its values: mappings with text keys, lists and scalars.
        lines: The line of every value by the keys and indices that lead to it; for a value in a
            mapping, the line of its key.
    """

    file: Path
    content: Any
    lines: dict[tuple[Step, ...], int]

    def line(self, path: Sequence[Step]) -> int:
        """The line of the value at `path`, or of the nearest enclosing value that exists."""
        steps = tuple(path)
        while steps not in self.lines:
            steps = steps[:-1]
        return self.lines[steps]


def read_document(file: Path) -> Document:
    """Reads one YAML file.

    Keys are always text, as they are written (`2024:` is the key '2024').

    Raises:
        SettingsError: The file is not UTF-8 text or not YAML, holds more than one document, gives
            a key twice in one mapping, or refers to itself.
        OSError: The file cannot be read.
    """
    raw = file.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = Fault(line, f"not UTF-8 text: byte {raw[error.start]:#04x}")
        raise SettingsError(file, [fault]) from None
    try:
        loader, node = _read(text)
        builder = _Builder(loader)
        content = None if node is None else builder.value(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = 1 if mark is None else mark.line + 1
        raise SettingsError(file, [Fault(line, f"not YAML: {_problem(error)}")]) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        fault = Fault(line, f"the character {chr(error.character)!r} is not allowed in YAML")
        raise SettingsError(file, [fault]) from None
    if builder.faults:
        raise SettingsError(file, builder.faults)
    return Document(file, content, {(): 1, **builder.lines})


def _read(text: str) -> tuple[Any, yaml.Node | None]:
    """The root of a YAML text, and what turns its nodes into values."""
    if yaml.__with_libyaml__:
        # Ten times as fast; of what is wrong the other one speaks more clearly.
        with suppress(yaml.YAMLError):
            quick = yaml.CSafeLoader(text)
            return quick, quick.get_single_node()
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def _problem(error: yaml.MarkedYAMLError) -> str:
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return f"{said} (a tab?)" if "'\\t'" in said else said


@dataclass(slots=True)
class _Builder:
    """Turns the nodes of one document into values; collects lines and repeated keys."""

    loader: Any
    lines: dict[tuple[Step, ...], int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    _open: list[yaml.Node] = field(default_factory=list)

    def value(self, node: yaml.Node, path: tuple[Step, ...]) -> Any:
        if any(node is outer for outer in self._open):
            raise yaml.constructor.ConstructorError(
                None, None, "a value refers to itself", node.start_mark
            )
        self._open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return dict(self._entries(node, path))
            if isinstance(node, yaml.SequenceNode):
                return [self._placed(item, (*path, at), item) for at, item in enumerate(node.value)]
            return self.loader.construct_object(node)
        finally:
            self._open.pop()

    def _entries(self, node: yaml.MappingNode, path: tuple[Step, ...]) -> Iterator[tuple[str, Any]]:
        first: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.value in first:
                self.faults.append(
                    Fault(line, f"{key.value!r} is given twice (first on line {first[key.value]})")
                )
            elif isinstance(key, yaml.ScalarNode):
                first[key.value] = line
        self.loader.flatten_mapping(node)  # carries out merge keys: `<<: *name`
        for key, item in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(
                    None, None, "a key must be text", key.start_mark
                )
            yield key.value, self._placed(item, (*path, key.value), key)

    def _placed(self, node: yaml.Node, path: tuple[Step, ...], at: yaml.Node) -> Any:
        self.lines[path] = at.start_mark.line + 1
        return self.value(node, path)
