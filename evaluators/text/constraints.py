"""Constraints: what a text must contain."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from evaluators.errors import BadConstraints
from evaluators.text.words import compose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PREFIX = "REGEXP:"


IS_JSON = "is_json"


@dataclass(frozen=True, slots=True)
class Operand:
    """A text or a pattern that must be found.

    Attributes:
        text: The text, or the pattern without its prefix; composed (NFC).
        is_pattern: Whether it is a regular expression.
    """

    text: str
    is_pattern: bool

    def holds(self, within: str, search: Callable[[str, str], bool]) -> bool:
        """Return whether it occurs in a composed text; patterns use `search(pattern, text)`."""
        return search(self.text, within) if self.is_pattern else self.text in within


@dataclass(frozen=True, slots=True)
class Json:
    """That the whole text is JSON, or is not."""

    is_json: bool

    def holds(self, within: str, search: Callable[[str, str], bool]) -> bool:  # noqa: ARG002
        """Return whether a text is JSON, if it must be."""
        try:
            json.loads(within, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return not self.is_json
        return self.is_json


Constraint: TypeAlias = tuple[Operand | Json, ...]
"""Alternatives, one of which must be found."""


@lru_cache(maxsize=1024)
def read_constraints(written: str) -> tuple[Constraint, ...]:
    """Parse a JSON list of texts, `REGEXP:` patterns, `is_json`, and lists of them as alternatives.

    Raises:
        BadConstraints: It is anything else, a list of alternatives is empty, or a pattern does not
            compile. The message has the number of the constraint, from 1.
    """
    try:
        listed = json.loads(written)
    except json.JSONDecodeError as error:
        raise BadConstraints(f"constraints {written!r}: not JSON: {error}") from error
    if not isinstance(listed, list):
        raise BadConstraints(f"constraints {written!r}: expected a list, got {_type(listed)}")
    return tuple(_constraint(item, number) for number, item in enumerate(listed, start=1))


def any_of(texts: Sequence[str]) -> Constraint:
    """Return the constraint that one of some texts or patterns matches.

    Raises:
        BadConstraints: A pattern does not compile.
    """
    return tuple(_operand(text, "expected answer") for text in texts)


def _constraint(item: Any, number: int) -> Constraint:
    place = f"constraint {number}"
    if not isinstance(item, list):
        return (_operand(item, place),)
    if not item:
        raise BadConstraints(f"{place}: the list of alternatives is empty")
    return tuple(_operand(part, f"{place}, alternative {n}") for n, part in enumerate(item, 1))


def _operand(item: Any, place: str) -> Operand | Json:
    if isinstance(item, dict) and item.keys() == {IS_JSON} and isinstance(item[IS_JSON], bool):
        return Json(item[IS_JSON])
    if not isinstance(item, str):
        raise BadConstraints(f"{place}: expected a text, got {_type(item)} {item!r}")
    if not item.startswith(PREFIX):
        return Operand(compose(item), is_pattern=False)
    pattern = compose(item.removeprefix(PREFIX))
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadConstraints(
            f"{place}: {pattern!r} is not a regular expression: {error}"
        ) from error
    return Operand(pattern, is_pattern=True)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return names.get(type(value), "null" if value is None else "a number")
