"""Reading: from what a judge said to a reply of the form that was asked for, or what is wrong.

The rungs of the ladder: the text as it is, or what stands in its first code fence, or after a
preamble; the first object whose braces balance; JSON, or JSON5 (comments, trailing commas), which
is a grammar and so guesses nothing; the form; the check. An object that is cut off is never
completed: what is missing from a list would be missing from a denominator.
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
    """A text that is no reply, and everything that is wrong with it."""

    faults: Sequence[str]

    @property
    def reason(self) -> str:
        """The faults in one line."""
        return "; ".join(self.faults)


def parse_reply(text: str, request: Ask[Any]) -> Reply | InvalidReply:
    """What a judge's text says, or what is wrong with it."""
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
        # From JSON and not from Python: only there do strict types take lists for tuples.
        reply: Reply = request.reply.model_validate_json(found)
    except ValidationError as error:
        return InvalidReply(_validation_faults(error))
    faults = list(request.check(reply)) if request.check is not None else []
    return InvalidReply(faults) if faults else reply


def _object(rest: str) -> str | InvalidReply:
    """The first object of a text as JSON."""
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
    """Where the object that begins at `start` ends; braces in strings and comments do not count."""
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
    """An object as strict JSON, or what is wrong with it."""
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
    """A field that stands twice in one object."""


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
