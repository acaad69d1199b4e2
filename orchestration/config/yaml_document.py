"""YAML text as plain values whose lines can be looked up."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.events import CollectionEndEvent, CollectionStartEvent
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import ParserError
from yaml.reader import ReaderError
from yaml.scanner import ScannerError

from orchestration.errors import Fault, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MAX_DEPTH = 100
"""The depth to which values may be nested."""

MAX_VALUES = 500_000
LONG_TEXT = 100
"""The most values of a file, with those that aliases and merge keys repeat."""


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one YAML file.

    Attributes:
        file: The file, as the user named it.
        content: Its values: mappings with text keys, lists and scalars.
        root: The YAML node of `content`; None in an empty file.
    """

    file: Path
    content: Any
    root: Node | None

    def line(self, path: Sequence[str | int]) -> int:
        """Return the line of the value at `path`, or of the nearest enclosing value that exists.

        For a value in a mapping it is the line of its key.
        """
        node, line = self.root, 1
        for step in path:
            children = _children(node)
            if step not in children:
                break
            start, node = children[step]
            line = start.start_mark.line + 1
        return line


def read_document(file: Path) -> Document:
    """Read one YAML file.

    Keys are always text, as they are written (`2024:` is the key '2024').

    Raises:
        SettingsError: The file is not UTF-8 text or not YAML, holds more than one document, repeats
            a key in one mapping, refers to itself, or exceeds `MAX_DEPTH` or `MAX_VALUES`.
        OSError: The file cannot be read.
    """
    raw = file.read_bytes()
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        fault = Fault(line, f"not UTF-8 text: byte {raw[error.start]:#04x}")
        raise SettingsError(file, [fault]) from None
    faults: list[Fault] = []
    try:
        _require_shallow(text)
        loader, root = _compose(text)
        if root is not None:
            _count_values(root, {})
        content = None if root is None else _value(root, loader, faults)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        hint = " (a tab?)" if "'\\t'" in problem else ""
        faults = [Fault(1 if mark is None else mark.line + 1, f"not YAML: {problem}{hint}")]
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        faults = [Fault(line, f"the character {chr(error.character)!r} is not allowed in YAML")]
    if faults:
        raise SettingsError(file, faults)
    return Document(file, content, root)


def _require_shallow(text: str) -> None:
    """Check the nesting before the loader, which recurses, sees it."""
    loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
    depth = 0
    # `_compose` reports what is not YAML.
    with suppress(ScannerError, ParserError, ReaderError):
        for event in yaml.parse(text, loader):
            if isinstance(event, CollectionStartEvent):
                depth += 1
            elif isinstance(event, CollectionEndEvent):
                depth -= 1
            if depth > MAX_DEPTH:
                start: Any = event.start_mark
                problem = f"values are nested more than {MAX_DEPTH} deep"
                raise ComposerError(None, None, problem, start)


def _count_values(node: Node, counts: dict[int, int | None]) -> int:
    """Return the number of values of a node, with those that aliases repeat.

    A text counts as one value for each `LONG_TEXT` characters.

    Args:
        node: The node.
        counts: The numbers of the nodes that were visited before; None: being visited.
    """
    if id(node) in counts:
        known = counts[id(node)]
        if known is None:
            raise ConstructorError(None, None, "a value refers to itself", node.start_mark)
        return known
    counts[id(node)] = None
    count = 1 + sum(_count_values(child, counts) for _, child in _items(node))
    if isinstance(node, ScalarNode):
        count += len(node.value) // LONG_TEXT
    if count > MAX_VALUES:
        problem = f"aliases repeat values: more than {MAX_VALUES:,} in all"
        raise ConstructorError(None, None, problem, node.start_mark)
    counts[id(node)] = count
    return count


def _compose(text: str) -> tuple[Any, Node | None]:
    """Return the loader and the root node of a YAML text."""
    loader: Any
    if yaml.__with_libyaml__:
        # Ten times as fast, but its error messages are less clear than those of the other loader.
        with suppress(yaml.YAMLError):
            loader = yaml.CSafeLoader(text)
            return loader, loader.get_single_node()
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def _value(node: Node, loader: Any, faults: list[Fault]) -> Any:
    """Build the plain value of a node; collect repeated keys in `faults`."""
    if isinstance(node, ScalarNode):
        try:
            return loader.construct_object(node)
        except (ValueError, LookupError, AttributeError):  # of `2024-13-45` or `!!int x`
            problem = "the value does not fit its type"
            raise ConstructorError(None, None, problem, node.start_mark) from None
    if isinstance(node, MappingNode):
        first: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, ScalarNode):
                raise ConstructorError(None, None, "a key must be text", key.start_mark)
            line = key.start_mark.line + 1
            if key.value in first:
                message = f"{key.value!r} is given twice (first on line {first[key.value]})"
                faults.append(Fault(line, message))
            first.setdefault(key.value, line)
        loader.flatten_mapping(node)  # resolves merge keys: `<<: *name`
    children = {step: _value(child, loader, faults) for step, (_, child) in _children(node).items()}
    return children if isinstance(node, MappingNode) else list(children.values())


def _children(node: Node | None) -> Mapping[str | int, tuple[Node, Node]]:
    """Return the values in a node by key or index, each with the node where it starts."""
    if isinstance(node, MappingNode):
        return {key.value: (key, value) for key, value in node.value}
    return dict(enumerate(_items(node)))


def _items(node: Node | None) -> list[tuple[Node, Node]]:
    """Return the values in a node, each with the node where it starts."""
    if isinstance(node, MappingNode):
        return list(node.value)
    return [(item, item) for item in node.value] if isinstance(node, SequenceNode) else []
