"""A strict JSON parser: no NaN, no numbers beyond floats, no repeated keys, no lone surrogates."""

from __future__ import annotations

import json
import math
import re
import sys
from typing import TYPE_CHECKING, Any, Final, NoReturn

from warehouse.formats.readers.limits import MAX_DEPTH, is_too_deep

if TYPE_CHECKING:
    from collections.abc import Iterable

_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_WHITESPACE: Final = re.compile(r"[ \t\r\n]*")
_LONGEST_SURE: Final = sys.float_info.max_10_exp
"""The number of digits that fit a float, whatever they are."""

_LIST_OF_TEXTS: Final = re.compile(r"\[\s*[\"']")


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


def _whole(digits: str) -> int:
    """Return a whole number, which must fit a float: any number may be scaled or added up."""
    value = int(digits)
    if len(digits) > _LONGEST_SURE:
        try:
            float(value)
        except OverflowError:
            raise ValueError(f"the number {digits[:20]}... is too large") from None
    return value


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = first_repeated(name for name, _ in pairs)
        raise ValueError(f"the key {twice!r} occurs twice in one object")
    return values


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that has occurred before; null if there is none."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"

_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_refuse_repeated_keys,
    parse_constant=_refuse_constant,
    parse_float=_finite,
    parse_int=_whole,
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
        message = str(error)
        if "set_int_max_str_digits" in message:
            message = f"a number has more than {sys.get_int_max_str_digits():,} digits"
        raise NotJsonError(message, start) from None
    except RecursionError:
        raise NotJsonError(TOO_DEEP, start) from None
    opened = text.count("[", start, end) + text.count("{", start, end)
    if opened > MAX_DEPTH and isinstance(value, dict | list) and is_too_deep(value):
        raise NotJsonError(TOO_DEEP, start)
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
    value, end = value_at(text, skip_whitespace(text, 0))
    end = skip_whitespace(text, end)
    if end < len(text):
        raise NotJsonError("expected the end", end)
    return value


def is_list(text: str) -> bool:
    """Return whether to parse a value as a list where it may also be a plain text.

    `[1] Paris` is a text. What begins with a bracket and a quotation mark is meant to be a list,
    even if it is not valid: to read it as a text would hide the mistake.
    """
    if not text.startswith("["):
        return False
    if _LIST_OF_TEXTS.match(text):
        return True
    try:
        decode(text)
    except NotJsonError:
        return False
    return True


def skip_whitespace(text: str, position: int) -> int:
    """Return the position of the next character that is not whitespace."""
    match = _WHITESPACE.match(text, position)
    return match.end() if match else position
