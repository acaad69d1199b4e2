"""Error messages for records that are not valid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

SHOWN: Final = 60
"""The number of characters of an invalid value that a message shows."""

EXPECTED: Final = {
    "string_type": "text",
    "too_short": "text",
    "string_too_short": "text",
    "string_pattern_mismatch": "text without control characters",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
}
"""The expected type by the type of pydantic error."""


class RecordError(Exception):
    """A record is not valid.

    Attributes:
        sentences: All problems, one sentence each.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self.sentences = tuple(sentences)
        super().__init__("; ".join(self.sentences))


def found(value: object) -> str:  # noqa: PLR0911 - one for each kind
    """Describe a value for a message: its type, and the value itself if it is short."""
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
    """Return pydantic's errors as texts such as ``answer: expected text, found the number 5``."""
    return [_sentence(fault) for fault in error.errors(include_url=False)]


def describe_field(path: Sequence[str | int], message: str) -> str:
    """Return a message about a field, such as ``answer: expected text``."""
    field = _field_path(path)
    return f"{field}: {message}" if field else message


def _sentence(fault: ErrorDetails) -> str:
    kind = fault["type"]
    context: dict[str, Any] = fault.get("ctx", {})
    if kind == "missing":
        message = "missing"
    elif kind in {"value_error", "assertion_error"}:
        message = str(context["error"])
    elif kind == "literal_error":
        message = f"expected {context['expected']}, found {found(fault['input'])}"
    elif kind in {"greater_than_equal", "less_than_equal"}:
        side = "at least" if kind == "greater_than_equal" else "at most"
        message = f"expected a number of {side} {context.get('ge', context.get('le')):g}, found "
        message += found(fault["input"])
    else:
        message = f"expected {EXPECTED.get(kind, kind)}, found {found(fault['input'])}"
    return describe_field(fault["loc"], message)


def _field_path(path: Sequence[str | int]) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step != "[key]":
            name = step if step.isprintable() else repr(step)[1:-1]
            text += f".{name}" if text else name
    return text
