"""JSON values: what systems return is converted to them, or rejected with field and type."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

MAX_ANSWER_BYTES: Final = 64_000_000
"""The largest answer that is read from a process."""

_MAX_DEPTH: Final = 100
_MAX_INTEGER: Final = 2**63
_SHOWN: Final = 200


class WrongValue(Exception):  # noqa: N818 - a result
    """A system returned what is not a JSON value; the message names the field."""


def to_json(value: Any, at: str, depth: int = 0) -> Any:
    """Convert to JSON values that databases can store; NumPy's numbers and arrays to plain ones.

    Args:
        value: Any value.
        at: The field that it is in, for messages.
        depth: The number of lists and dicts around it.

    Raises:
        WrongValue: It is not possible; the message names the field and the type.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(str.__str__(value))  # the text of an enumeration, not its name
    if isinstance(value, int) and abs(value) < _MAX_INTEGER:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if depth >= _MAX_DEPTH:
        raise WrongValue(f"{at[:_SHOWN]}: expected at most {_MAX_DEPTH} levels")
    return _container_to_json(value, at, depth + 1)


def _container_to_json(value: Any, at: str, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {
            _key_to_json(name, at): to_json(each, f"{at}.{name}" if at else str(name), depth)
            for name, each in value.items()
        }
    if isinstance(value, list | tuple):
        return [to_json(each, f"{at}[{i}]", depth) for i, each in enumerate(value)]
    if type(value).__module__ == "numpy":
        plain = value.tolist()
        if type(plain) is not type(value):
            return to_json(plain, at, depth)
    raise WrongValue(
        f"{at or 'the answer'}: expected JSON values (text, finite numbers, lists, dicts), found "
        f"{type(value).__name__}: {short(value)}"
    )


def _key_to_json(name: object, at: str) -> str:
    if not isinstance(name, str):
        raise WrongValue(f"{at or 'the answer'}: expected text as keys, found {short(name)}")
    return storable(str.__str__(name))


def storable(text: str) -> str:
    """Return a text with what databases cannot store replaced: lone surrogates and U+0000."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def short(value: object) -> str:
    """Return the start of a value's representation, in one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 - the class is the user's
        return "(no representation)"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
