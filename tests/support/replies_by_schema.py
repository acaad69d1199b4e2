"""Replies that follow from a prompt and its schema alone: a judge for tests of whole runs.

They are right in form and complete (a verdict on every key that the prompt lists), and otherwise
drawn by the digest of the prompt; as judgments they are worth nothing.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BLOCK = re.compile(r"<<(\w+) (\w{12})>>\n(.*?)\n<</\1 \2>>", re.DOTALL)
_KEY = re.compile(r"^\[(\w+)\] ", re.MULTILINE)
_WORDS = ("the", "judge", "might", "say", "something", "about", "it", "in", "passing")
_SCHEMA = "JSON schema: "
_PROSE = {"text", "reasoning", "explanation", "question", "quote", "reason", "category"}
_LISTED = re.compile(r"keys|ids|sentences")


def reply_to(messages: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """The reply to rendered messages; `{"ready": true}` where no schema is among them."""
    told = messages[0]["content"]
    if _SCHEMA not in told:
        return {"ready": True}
    schema = json.loads(told.rpartition(_SCHEMA)[2])
    material = messages[1]["content"]
    seed = hashlib.sha256((told + material).encode()).digest()
    blocks = {name: _KEY.findall(text) for name, _, text in _BLOCK.findall(material)}
    made: dict[str, Any] = _Maker(
        schema.get("$defs", {}), {name: keys for name, keys in blocks.items() if keys}, seed
    ).make(schema, "")
    return made


class _Maker:
    """Makes values of a schema."""

    def __init__(
        self, definitions: Mapping[str, Any], blocks: Mapping[str, list[str]], seed: bytes
    ) -> None:
        self._definitions = definitions
        self._blocks = blocks
        self._random = random.Random(seed)

    def make(  # noqa: PLR0911 - one for each type
        self, schema: Mapping[str, Any], name: str, key: str | None = None
    ) -> Any:
        """A value; `name` is the field's, `key` what the object around it is about."""
        if "$ref" in schema:
            return self.make(self._definitions[schema["$ref"].rpartition("/")[2]], name, key)
        if "anyOf" in schema:
            return self.make(schema["anyOf"][0], name, key)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        match schema["type"]:
            case "object":
                return {
                    field: self.make(part, field, key)
                    for field, part in schema.get("properties", {}).items()
                }
            case "array":
                return self._list(schema, name)
            case "boolean":
                return self._random.random() < 0.7
            case "integer" | "number":
                return self._number(schema)
            case "null":
                return None
            case _:
                return self._text(name, key)

    def _list(self, schema: Mapping[str, Any], name: str) -> list[Any]:
        items = schema.get("items", {"type": "string"})
        items = self._definitions.get(items.get("$ref", "").rpartition("/")[2], items)
        keys = self._keys(name)
        if items.get("type") == "object" and keys and any(map(self._is_key, items["properties"])):
            return [self.make(items, name, key) for key in keys]
        if items.get("type") == "string" and keys and _LISTED.search(name):
            return [key for key in keys if self._random.random() < 0.5]
        least = schema.get("minItems", 1)
        count = max(least, min(schema.get("maxItems", 3), self._random.randint(1, 3)))
        return [self.make(items, name, f"s{number}") for number in range(1, count + 1)]

    def _keys(self, name: str) -> list[str]:
        """The keys of the block whose name is most like a field's; of the last one for none."""
        if not self._blocks:
            return []
        words = set(name.rstrip("s").split("_"))
        best = max(
            self._blocks,
            key=lambda block: len(words & {word.rstrip("s") for word in block.split("_")}),
        )
        return self._blocks[best]

    def _number(self, schema: Mapping[str, Any]) -> int:
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
        return self._random.randint(int(low), int(schema.get("maximum", low + 5)))

    def _text(self, name: str, key: str | None) -> str:
        if key is not None and self._is_key(name):
            return key
        return " ".join(self._random.choices(_WORDS, k=6))

    def _is_key(self, field: str) -> bool:
        """Whether a field of a thing that a list names holds its key, and no prose."""
        return field not in _PROSE
