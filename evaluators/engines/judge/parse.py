"""Parsing: from the text of a judge to a reply that matches the schema, or a list of faults.

The steps: find the text, or its first code fence, or what follows a preamble; take the first
object with balanced braces; parse it as JSON, or as JSON5 (comments, trailing commas), which is a
grammar and guesses nothing; validate the schema; run the request's check. A truncated object is
never completed: items missing from a list would be missing from a denominator.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evaluators.flows.reply import PlainReply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Ask

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[a-zA-Z0-9]*[ \t]*\r?\n")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|//[^\n]*|/\*|[{}"]', re.DOTALL)
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
        found = _object(rest)
    if isinstance(found, InvalidReply):
        return found
    try:
        # Only from JSON do strict types accept lists as tuples.
        reply: Reply = request.reply.model_validate_json(found)
    except ValidationError as error:
        return InvalidReply(_validation_faults(error))
    faults = list(request.check(reply)) if request.check is not None else []
    return InvalidReply(faults) if faults else reply


def _object(rest: str) -> str | InvalidReply:
    """Return the first object of a text as JSON."""
    if not rest.startswith("{"):
        fence = _FENCE.search(rest)
        rest = rest[fence.end() :] if fence and "{" in rest[fence.end() :] else rest
    if "{" not in rest:
        return InvalidReply(["there is no JSON object in the reply"])
    complaint = ""
    start = rest.find("{")
    while start >= 0:
        end = _balanced(rest, start)
        if end is None:
            return InvalidReply([complaint or "the JSON object in the reply is not complete"])
        value, problem = _value(rest[start:end])
        if problem is None:
            return value
        complaint = complaint or problem
        start = rest.find("{", end)
    return InvalidReply([complaint])


def _balanced(text: str, start: int) -> int | None:
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


def _value(text: str) -> tuple[str, str | None]:
    """Convert an object to strict JSON; return the JSON and the problem, if there is one."""
    import pyjson5

    try:
        value = json.loads(text, strict=False, object_pairs_hook=_reject_repeated)
    except json.JSONDecodeError as error:
        try:
            value = pyjson5.loads(text)
        except pyjson5.Json5DecoderException:
            return "", f"the reply is no JSON: {error.msg} at character {error.pos}"
    except _Repeated as error:
        return "", str(error)
    except RecursionError:
        return "", "the reply is nested too deeply"
    try:
        return json.dumps(value, allow_nan=False), None
    except ValueError:
        return "", "the reply holds a number that is not finite"


class _Repeated(Exception):  # noqa: N818 - a finding
    """A field that occurs twice in one object, with different values."""


def _reject_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found and found[name] != value:
            raise _Repeated(f"the field {name[:_SHOWN]!r} has two values")
        found[name] = value
    return found


def _validation_faults(error: ValidationError) -> list[str]:
    faults = []
    for each in error.errors(include_url=False, include_context=False)[:_MOST_FAULTS]:
        place = ".".join(map(str, each["loc"])) or "the reply"
        given = "" if each["type"] in _ABOUT_FIELDS else f", not {json.dumps(each['input'])}"
        faults.append(f"{place}: {each['msg']}{given[:_SHOWN]}")
    return faults
