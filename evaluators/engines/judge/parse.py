"""Parsing: from the text of a judge to a reply that matches the schema, or a list of faults.

The steps: find the text, or its first code fence, or what follows a preamble; take the first
object with balanced braces; parse it as JSON, or as JSON5 (comments, trailing commas), which is a
grammar and guesses nothing; validate the schema; run the request's check. A truncated object is
never completed: items missing from a list would be missing from a denominator. Contradictions
are faults: a field with two values, or two objects that differ.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evaluators.flows.reply import PlainReply
from records.packages import require_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Ask

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z0-9]*[ \t]*\r?\n")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*|/\*|[{}"]', re.DOTALL)
_JSON5_TOKEN = re.compile(
    r"""//[^\n]*|/\*(?:.*?\*/|.*)|
    (?P<key>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|(?<![\w$])[^\W\d][\w$]*+)(?P<colon>\s*+:)|
    "(?:[^"\\]|\\.)*+"?|'(?:[^'\\]|\\.)*+'?""",
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(r"\A\d+ ")
_MOST_DIGITS = 18
"""Longer whole numbers do not fit into the columns of tables, and no scale is that long."""
_INCOMPLETE = "the JSON object in the reply is not complete"
_MOST_OBJECTS = 10_000
_MOST_UNCLOSED = 3
"""Each takes the time of reading the whole text."""
_MOST_FAULTS = 12
_SHOWN = 200
_ABOUT_FIELDS = frozenset({"missing", "extra_forbidden"})


@dataclass(frozen=True, slots=True)
class InvalidReply:
    """The faults of a text that is not a valid reply."""

    faults: Sequence[str]

    @property
    def reason(self) -> str:
        """The faults in one line."""
        return "; ".join(self.faults)


def parse_reply(text: str, request: Ask[Any]) -> Reply | InvalidReply:
    """Parse the text of a judge; return the reply, or its faults."""
    rest = _THOUGHTS.sub("", text).strip()
    if rest.startswith("<think>"):
        return InvalidReply(["the reply ends within its thoughts"])
    if issubclass(request.reply, PlainReply):
        found: str | InvalidReply = json.dumps({"text": rest})
    else:
        found = _find_object(rest, request.reply)
    if isinstance(found, InvalidReply):
        return found
    try:
        # Only from JSON do strict types accept lists as tuples.
        reply: Reply = request.reply.model_validate_json(found)
    except ValidationError as error:
        return InvalidReply(_validation_faults(error))
    faults = list(request.check(reply)) if request.check is not None else []
    return InvalidReply(faults) if faults else reply


def _find_object(text: str, reply: type[Reply]) -> str | InvalidReply:
    """Return the first object of a text, or of its first code fence, as JSON.

    All objects after it must be equal to it. Those before a code fence may also show the form of
    the reply, so they count only if they are one.
    """
    fence = None if text.startswith("{") else _FENCE.search(text)
    start = fence.end() if fence and "{" in text[fence.end() :] else 0
    found = _find_objects(text[start:])
    chosen = None
    problems = []
    for value, problem in found:
        if problem is None:
            chosen = value
            break
        problems.append(problem)
        if problem == _INCOMPLETE:
            break
    if chosen is None:
        return InvalidReply([*problems, "there is no JSON object in the reply"][:1])
    after = [value for value, problem in found if problem is None]
    before = [value for value, problem in _find_objects(text[:start]) if problem is None]
    others = [*after, *(value for value in before if _is_reply(value, reply))]
    if any(other != chosen for other in others):
        return InvalidReply(["the reply holds two JSON objects that differ"])
    return chosen


def _find_objects(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield each object of a text as strict JSON, and its problem, if there is one."""
    unclosed = 0
    place = text.find("{")
    for _ in range(_MOST_OBJECTS):
        if place < 0 or unclosed == _MOST_UNCLOSED:
            return
        end = _end_of_object(text, place)
        if end is None:
            unclosed += 1
            end = place + 1
            yield "", _INCOMPLETE
        else:
            yield _to_strict_json(text[place:end])
        place = text.find("{", end)


def _is_reply(value: str, reply: type[Reply]) -> bool:
    try:
        reply.model_validate_json(value)
    except ValidationError:
        return False
    return True


def _end_of_object(text: str, start: int) -> int | None:
    """Return where the object at `start` ends, ignoring braces in strings and comments."""
    depth = 0
    place = start
    while token := _TOKEN.search(text, place):
        place = token.end()
        match token.group():
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if depth == 0:
                    return place
            case "/*":
                end = text.find("*/", place)
                if end < 0:
                    return None
                place = end + 2
            case '"':
                return None  # a string that does not end
    return None


def _to_strict_json(text: str) -> tuple[str, str | None]:
    """Convert an object to strict JSON with sorted keys; return it and the problem, if any."""
    try:
        try:
            value = _JSON.decode(text)
        except json.JSONDecodeError as error:
            require_extra("judge", "a judge's reply that is not strict JSON")
            import pyjson5

            try:
                numbered = pyjson5.loads(_add_key_numbers(text))
            except pyjson5.Json5DecoderException:
                return "", f"the reply is no JSON: {error.msg} at character {error.pos}"
            value = _NUMBERED_JSON.decode(json.dumps(numbered))
        return _STRICT_JSON.encode(value), None
    except _Unusable as error:
        return "", str(error)
    except RecursionError:
        return "", "the reply is nested too deeply"
    except ValueError:  # also of Python's limit for the digits of a whole number
        return "", "the reply holds a number that is not finite"


class _Unusable(Exception):  # noqa: N818 - a finding
    """JSON without a single meaning."""


def _parse_whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise _Unusable("the reply holds a number that is too large")
    return int(digits)


def _parse_number(digits: str) -> int | float:
    """Parse a number with a point or an exponent; 4.0 is the whole number 4, as in JSON Schema."""
    value = float(digits)
    is_whole = value.is_integer() and abs(value) < 10**_MOST_DIGITS
    return int(value) if is_whole else value


def _require_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dictionary; raise `_Unusable` for a field that has two values."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        # As texts, because 1 and true are equal in Python.
        if name in found and json.dumps(found[name]) != json.dumps(value):
            raise _Unusable(f"the field {name[:_SHOWN]!r} has two values")
        found[name] = value
    return found


def _require_unique_numbered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return _require_unique([(_NUMBER.sub("", name), value) for name, value in pairs])


_JSON = json.JSONDecoder(
    parse_int=_parse_whole_number,
    parse_float=_parse_number,
    strict=False,
    object_pairs_hook=_require_unique,
)
_NUMBERED_JSON = json.JSONDecoder(
    parse_int=_parse_whole_number,
    parse_float=_parse_number,
    object_pairs_hook=_require_unique_numbered,
)
_STRICT_JSON = json.JSONEncoder(allow_nan=False, sort_keys=True)


def _add_key_numbers(text: str) -> str:
    """Number the keys of JSON5: its parser would keep the last one of equal keys silently."""
    numbers = itertools.count()

    def number(token: re.Match[str]) -> str:
        key = token["key"]
        if key is None:
            return token[0]
        quote, name = (key[0], key[1:]) if key[0] in "\"'" else ('"', f'{key}"')
        return f"{quote}{next(numbers)} {name}{token['colon']}"

    return _JSON5_TOKEN.sub(number, text)


def _validation_faults(error: ValidationError) -> list[str]:
    faults = []
    for each in error.errors(include_url=False, include_context=False)[:_MOST_FAULTS]:
        place = ".".join(map(str, each["loc"]))[:_SHOWN] or "the reply"
        given = "" if each["type"] in _ABOUT_FIELDS else f", not {json.dumps(each['input'])}"
        faults.append(f"{place}: {each['msg']}{given[:_SHOWN]}")
    return faults
