"""Replies: the schema of a judge's answer, and checks that a schema cannot express."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence


def digest_of(text: str) -> str:
    """Return the first 12 hexadecimal digits of a text's SHA-256; lone surrogates are kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


Item = TypeVar("Item")

_AROUND_KEYS = " \t\r\n[]().:"
_MAX_UNKNOWN_SHARE = 0.2


def _strip_brackets(key: str) -> str:
    return key.strip(_AROUND_KEYS)


Key: TypeAlias = Annotated[str, AfterValidator(_strip_brackets)]
"""An identifier from the prompt; judges may repeat the brackets around it or add a full stop."""


class Reply(BaseModel):
    """What a judge answers; a subclass names the fields, reasons before verdicts.

    Types are strict: "yes" is not a boolean and 4.5 not a whole number, but 4.0 is. What is not of
    the form is put right by the judge itself, once, or is a parse failure.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    @cache
    def schema_of(cls) -> dict[str, Any]:
        """Return the JSON schema without titles and descriptions."""
        schema: dict[str, Any] = _without_titles(cls.model_json_schema())
        return schema

    @classmethod
    def digest(cls) -> str:
        """Return the version of the schema; part of the signature."""
        return digest_of(json.dumps(cls.schema_of(), sort_keys=True))


class PlainReply(Reply):
    """What a judge answers to a prompt that says by itself in which words to reply.

    No schema is sent and no JSON is looked for: the whole reply is `text`. What it must be is said
    by the `check` of the question.
    """

    text: str

    @classmethod
    @cache
    def schema_of(cls) -> dict[str, Any]:
        """Return an empty schema, which allows anything."""
        return {}


def verdicts_by_id(
    verdicts: Iterable[Item], key: Callable[[Item], str], expected: Collection[str]
) -> tuple[dict[str, Item], int]:
    """Index verdicts by identifier.

    Returns:
        The first verdict on each expected identifier, and the number of verdicts on unknown ones.
    """
    found: dict[str, Item] = {}
    unknown = 0
    for verdict in verdicts:
        if key(verdict) in expected:
            found.setdefault(key(verdict), verdict)
        else:
            unknown += 1
    return found, unknown


def faults_by_id(
    verdicts: Iterable[Item],
    key: Callable[[Item], str],
    decision: Callable[[Item], object],
    expected: Collection[str],
) -> list[str]:
    """Find missing and contradictory verdicts in a list that needs one verdict per identifier.

    Verdicts on unknown identifiers (they are dropped and counted) and repeated equal verdicts are
    not faults.

    Args:
        verdicts: The verdicts of the judge.
        key: Returns the identifier of a verdict.
        decision: Returns the part in which two verdicts on one identifier must agree.
        expected: The identifiers in the prompt.

    Returns:
        A sentence for each fault; empty if there is none.
    """
    decisions: dict[str, set[object]] = {}
    for verdict in verdicts:
        decisions.setdefault(key(verdict), set()).add(decision(verdict))
    missing = [name for name in expected if name not in decisions]
    contradictory = [name for name in expected if len(decisions.get(name, ())) > 1]
    faults = []
    if missing:
        faults.append(f"no verdict on {', '.join(missing)}")
    if contradictory:
        faults.append(f"contradictory verdicts on {', '.join(contradictory)}")
    return faults


def too_many_unknown(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Report a fault if more than a fifth of the distinct identifiers are unknown."""
    distinct = Counter(given)
    unknown = [name for name in distinct if name not in known]
    if len(unknown) <= _MAX_UNKNOWN_SHARE * len(distinct):
        return []
    return [f"unknown identifiers: {', '.join(unknown[:10])}"]


def _without_titles(node: Any) -> Any:
    if isinstance(node, dict):
        return {
            name: {each: _without_titles(part) for each, part in value.items()}
            if name in {"properties", "$defs"}
            else _without_titles(value)
            for name, value in node.items()
            if name not in {"title", "description"}
        }
    return [_without_titles(part) for part in node] if isinstance(node, list) else node
