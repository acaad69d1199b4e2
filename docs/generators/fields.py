"""Describe the fields of a pydantic model in plain words: type, default and meaning."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

_ATTRIBUTES = "\n\nAttributes:\n"
_ATTRIBUTE = re.compile(r"^    (\w+): (.+(?:\n        .+)*)", re.MULTILINE)
_WORDS = {"string": "text", "integer": "whole number", "number": "number"}
_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
}
_FURTHEST = 2**31 - 1
"""Limits from here on come from column types and are not worth mentioning."""


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """A field of a model.

    Attributes:
        name: Its name in input files.
        kind: Its type in words.
        required: Whether it is required.
        default: Its default, as a JSON value.
        meaning: Its description, or its text under `Attributes:` in the docstring of the model.
        part: The name of the model of its values, if these are mappings.
        example: An example that its declaration gives; null: none.
    """

    name: str
    kind: str
    required: bool
    default: Any
    meaning: str
    part: str | None
    example: Any = None


def describe_fields(model: type[BaseModel]) -> list[FieldDoc]:
    """Return the fields of a model in order.

    Raises:
        LookupError: A field has neither a description nor a text in the docstring of the model.
    """
    schema = model.model_json_schema()
    texts = _meanings(model)
    required = schema.get("required", [])
    found = []
    for name, spec in schema["properties"].items():
        meaning = spec.get("description") or texts.get(name)
        if meaning is None:
            raise LookupError(f"{model.__name__}: nothing describes {name!r}")
        kind, part = _kind(spec)
        default = spec.get("default")
        if part is not None and isinstance(default, dict):
            default = None
        example = next(iter(spec.get("examples", ())), None)
        found.append(FieldDoc(name, kind, name in required, default, meaning, part, example))
    return found


def _meanings(model: type[BaseModel]) -> Mapping[str, str]:
    docs = [inspect.cleandoc(each.__doc__ or "") for each in reversed(model.__mro__)]
    listed = "\n".join(doc.partition(_ATTRIBUTES)[2] for doc in docs)
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(listed)}


def _kind(spec: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the type in a JSON schema in words, and the model that it refers to."""
    if "$ref" in spec:
        return "mapping", spec["$ref"].rpartition("/")[2]
    if "anyOf" in spec:
        kinds = [_kind(each) for each in spec["anyOf"] if each.get("type") != "null"]
        part = next((part for _, part in kinds if part is not None), None)
        return " or ".join(dict.fromkeys(kind for kind, _ in kinds)), part
    match spec.get("type"):
        case "array":
            inner, part = _kind(spec.get("items", {}))
            return (f"list of {_plural(inner)}" if inner else "list"), part
        case "object":
            inner, part = _kind(_value(spec))
            return (f"mapping of names to {_plural(inner)}" if inner else "mapping"), part
        case _:
            return _scalar(spec), None


def _scalar(spec: Mapping[str, Any]) -> str:
    if "enum" in spec:
        return " or ".join(f"`{each}`" for each in spec["enum"])
    if spec.get("type") == "boolean":
        return "`true` or `false`"
    limits = [
        f"{word} {spec[key]:g}"
        for key, word in _LIMITS.items()
        if key in spec and abs(spec[key]) < _FURTHEST
    ]
    return ", ".join([_WORDS.get(spec.get("type", ""), ""), *limits])


def _value(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema of the values of a mapping; empty if they may be anything."""
    inner = spec.get("additionalProperties")
    named: Mapping[str, Any] = next(iter(spec.get("patternProperties", {}).values()), {})
    return inner if isinstance(inner, dict) else named


def _plural(kind: str) -> str:
    return " or ".join(map(_plural_of_one, kind.split(" or ")))


def _plural_of_one(kind: str) -> str:
    noun, comma, limits = kind.partition(",")
    first, of, rest = noun.partition(" of ")
    ending = "" if first.startswith("`") else "s"
    return f"{first}{ending}{of}{rest}{comma}{limits}"


def cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return text.replace("|", "\\|")
