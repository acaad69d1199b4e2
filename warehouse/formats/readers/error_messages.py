"""Says in plain sentences what is wrong with a record."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

SHOWN: Final = 60
"""The characters of a wrong text or number that a message repeats."""

EXPECTED: Final = {
    "string_type": "text",
    "too_short": "text",
    "string_too_short": "text",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
}
"""What was expected, by the kind of error."""


class RecordError(Exception):
    """A record does not have the form that it should have.

    Attributes:
        sentences: Everything that is wrong with it, one sentence each.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self.sentences = tuple(sentences)
        super().__init__("; ".join(self.sentences))


def found(value: object) -> str:  # noqa: PLR0911 - one for each kind
    """Names a value as a message should: its kind, and the value when it is short."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float() if not math.isfinite(value):
            return str(value)
        case int() | float():
            digits = str(value)
            return f"the number {digits[:SHOWN]}" + ("..." if len(digits) > SHOWN else "")
        case "":
            return "an empty text"
        case str() if len(value) > SHOWN:
            return f"the text {value[:SHOWN]!r}..."
        case str():
            return f"the text {value!r}"
        case dict():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def sentences(error: ValidationError) -> list[str]:
    """Every fault that pydantic found, such as ``answer: expected text, found the number 5``."""
    return [_sentence(fault) for fault in error.errors(include_url=False)]


def _sentence(fault: ErrorDetails) -> str:
    place = _place(fault["loc"])
    kind = fault["type"]
    context: dict[str, Any] = fault.get("ctx", {})
    if kind == "missing":
        said = "missing"
    elif kind in {"value_error", "assertion_error"}:
        said = str(context["error"])
    elif kind == "literal_error":
        said = f"expected {context['expected']}, found {found(fault['input'])}"
    elif kind in {"greater_than_equal", "less_than_equal"}:
        side = "at least" if kind == "greater_than_equal" else "at most"
        said = f"expected a number of {side} {context.get('ge', context.get('le')):g}, found "
        said += found(fault["input"])
    else:
        said = f"expected {EXPECTED.get(kind, kind)}, found {found(fault['input'])}"
    return f"{place}: {said}" if place else said


def _place(path: Sequence[str | int]) -> str:
    place = ""
    for step in path:
        if isinstance(step, int):
            place += f"[{step}]"
        elif step != "[key]":
            place += f".{step}" if place else step
    return place
