"""A strict JSON parser: no NaN, no repeated keys, no lone surrogates."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_WHITESPACE: Final = re.compile(r"[ \t\r\n]*")


class NotJsonError(Exception):
    """A text is not valid JSON.

    Attributes:
        position: The position of the error, from 0.
    """

    def __init__(self, message: str, position: int) -> None:
        self.position = position
        super().__init__(message)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits} is too large")
    return value


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return values


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated_keys, parse_constant=_refuse_constant, parse_float=_finite
)


def value_at(text: str, start: int) -> tuple[Any, int]:
    """Parse the JSON value at a position.

    Returns:
        The value and the position after it.

    Raises:
        NotJsonError: There is no valid JSON value.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise NotJsonError(f"{error.msg[:1].lower()}{error.msg[1:]}", error.pos) from None
    except ValueError as error:
        raise NotJsonError(str(error), start) from None
    except RecursionError:
        raise NotJsonError("nested too deeply", start) from None
    if _SURROGATE.search(text, start, end):
        _refuse_lone_surrogates(value, start)
    return value, end


def _refuse_lone_surrogates(value: object, start: int) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise NotJsonError("half of a surrogate pair is not a character", start) from None


def decode(text: str) -> Any:
    """Parse a text that holds one JSON value.

    Raises:
        NotJsonError: The text is not exactly one JSON value.
    """
    value, end = value_at(text, _skip_whitespace(text, 0))
    end = _skip_whitespace(text, end)
    if end < len(text):
        raise NotJsonError("expected the end", end)
    return value


def members(text: str) -> Iterator[tuple[str | None, Any, int]]:
    """Yield the elements of a JSON list or the members of a JSON object.

    Yields:
        The key (null in a list), the value, and its position.

    Raises:
        NotJsonError: The text is not one JSON list or object.
    """
    start = _skip_whitespace(text, 0)
    opening = text[start : start + 1]
    if opening not in {"[", "{"}:
        raise NotJsonError("expected a list or an object", start)
    closing = "]" if opening == "[" else "}"
    position = _skip_whitespace(text, start + 1)
    if text[position : position + 1] == closing:
        position += 1
    else:
        while True:
            begin = position
            key = None
            if opening == "{":
                key, position = _key(text, position)
            value, position = value_at(text, position)
            yield key, value, begin
            position = _skip_whitespace(text, position)
            delimiter = text[position : position + 1]
            position += 1
            if delimiter == closing:
                break
            if delimiter != ",":
                raise NotJsonError(f"expected ',' or {closing!r}", position - 1)
            position = _skip_whitespace(text, position)
    if _skip_whitespace(text, position) < len(text):
        raise NotJsonError("expected the end", position)


def _key(text: str, position: int) -> tuple[str, int]:
    if text[position : position + 1] != '"':
        raise NotJsonError("expected a key in double quotes", position)
    key, position = value_at(text, position)
    position = _skip_whitespace(text, position)
    if text[position : position + 1] != ":":
        raise NotJsonError("expected ':'", position)
    return key, _skip_whitespace(text, position + 1)


def _skip_whitespace(text: str, position: int) -> int:
    match = _WHITESPACE.match(text, position)
    return match.end() if match else position
