"""Replies: the form in which a judge answers, and what it must hold beside its form."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict

from evaluators.flows.digest import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

Item = TypeVar("Item")

_AROUND_KEYS = " \t\r\n[]().:"
_MAX_UNKNOWN_SHARE = 0.2


def _strip_brackets(key: str) -> str:
    return key.strip(_AROUND_KEYS)


Key: TypeAlias = Annotated[str, AfterValidator(_strip_brackets)]
"""An identifier that a judge was shown; the brackets around it, or a full stop, may be repeated."""


class Reply(BaseModel):
    """What a judge answers; a subclass names the fields, reasons before verdicts.

    Types are strict: "yes" is no boolean and 4.5 is no whole number. What is not of the form is
    put right by the judge itself, once, or is a parse failure.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @classmethod
    @cache
    def schema_of(cls) -> dict[str, Any]:
        """The JSON schema, without titles and docstrings that tell a judge nothing."""
        schema: dict[str, Any] = _without_titles(cls.model_json_schema())
        return schema

    @classmethod
    def digest(cls) -> str:
        """The version of the form, which goes into signatures."""
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
        """None: an empty schema, which allows anything."""
        return {}


def verdicts_by_id(
    verdicts: Iterable[Item], key: Callable[[Item], str], expected: Collection[str]
) -> tuple[dict[str, Item], int]:
    """The verdicts on what was asked about, by identifier.

    Returns:
        The first verdict on each expected identifier, and how many were on unknown ones.
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
    """What is wrong with a list that must hold one verdict on each identifier.

    Verdicts on unknown identifiers are no fault (they are dropped and counted), nor is the same
    verdict given twice.

    Args:
        verdicts: What the judge returned.
        key: The identifier of a verdict.
        decision: What two verdicts on one identifier must agree in.
        expected: The identifiers that were asked about.

    Returns:
        A sentence for each fault; empty when there is none.
    """
    decisions: dict[str, set[object]] = {}
    for verdict in verdicts:
        decisions.setdefault(key(verdict), set()).add(decision(verdict))
    missing = [name for name in expected if name not in decisions]
    torn = [name for name in expected if len(decisions.get(name, ())) > 1]
    faults = []
    if missing:
        faults.append(f"no verdict on {', '.join(missing)}")
    if torn:
        faults.append(f"contradictory verdicts on {', '.join(torn)}")
    return faults


def too_many_unknown(given: Sequence[str], known: Collection[str]) -> list[str]:
    """Complain when more than a fifth of the different identifiers given are not known."""
    different = Counter(given)
    unknown = [name for name in different if name not in known]
    if len(unknown) <= _MAX_UNKNOWN_SHARE * len(different):
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
