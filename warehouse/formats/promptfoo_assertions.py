"""What the assertions of a test case of promptfoo say of a right answer, and what they found."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warehouse.formats.promptfoo_patterns import UntranslatableError, python_pattern
from warehouse.formats.readers.exports import numbered, reported_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMPARING: Final = frozenset({"equals", "similar", "factuality", "levenshtein", "rouge-n", "bleu"})
"""The assertions whose value is an expected answer."""

PREFIX: Final = "REGEXP:"
"""What begins a constraint that is a pattern."""

KEPT: Final = ("type", "value", "threshold", "weight", "metric", "assert")
"""The members of an assertion that are kept where it is neither expected answer nor constraint."""

_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_SEARCHING: Final = frozenset({"contains", "icontains", "regex", "starts-with"})
_SET: Final = "assert-set"

Constraint: TypeAlias = Any
"""A text or pattern, alternatives of them, or whether the answer is JSON."""


@dataclass(slots=True)
class Assertions:
    """What the assertions of a test case say.

    Attributes:
        expected: The texts with which they compare the output.
        constraints: The constraints that an output must satisfy to pass them.
        others: Those that are, or may be, neither: their types, values and thresholds.
    """

    expected: list[str] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    others: list[dict[str, Any]] = field(default_factory=list)


def read_assertions(test: Mapping[str, Any], variables: Mapping[str, Any]) -> Assertions:
    """Read the assertions of a test case, also those in sets.

    An assertion is a constraint only where an output that fails it fails the test: not with a
    weight of 0, and not where a threshold or a scoring function decides.
    """
    found = Assertions()
    decides = _decides(test) and not test.get("assertScoringFunction")
    _read(test.get("assert"), variables, found, decides=decides)
    found.expected = list(dict.fromkeys(found.expected))
    return found


def _read(
    listed: object, variables: Mapping[str, Any], found: Assertions, *, decides: bool
) -> None:
    for each in listed if isinstance(listed, list) else []:
        if not isinstance(each, dict):
            continue
        decides_too = decides and each.get("weight") != 0
        kind = str(each.get("type"))
        if kind == _SET:
            _read(each.get("assert"), variables, found, decides=decides_too and _decides(each))
            continue
        value = _rendered(each.get("value"), variables)
        if kind in COMPARING and isinstance(value, str):
            found.expected.append(value)
            continue
        constraints = _constraints(kind, value) if decides_too else None
        found.constraints += [one for one in constraints or () if one not in found.constraints]
        if constraints is None or (value and {"is_json": True} in constraints):  # has a schema
            found.others.append({name: each[name] for name in KEPT if name in each})


def _decides(judged: Mapping[str, Any]) -> bool:
    """Return whether each assertion of a test or set must pass, as there is no threshold."""
    return judged.get("threshold") is None


def _rendered(value: object, variables: Mapping[str, Any]) -> object:
    """Return a value with the variables that it names; null if it computes something of them."""
    if isinstance(value, list):
        rendered = [_rendered(each, variables) for each in value]
        return None if None in rendered else rendered
    if not isinstance(value, str):
        return value

    def text(match: re.Match[str]) -> str:
        given = variables.get(match[1])
        return str(given) if _is_text(given) else match[0]

    if value.startswith("file://"):
        return None
    rendered_text = _VARIABLE.sub(text, value)
    return None if re.search(r"\{[{%#]", rendered_text) else rendered_text


def _constraints(kind: str, value: object) -> list[Constraint] | None:
    """Return the constraints of an assertion; null if there are none that say the same."""
    positive = kind.removeprefix("not-")
    is_negative = positive != kind
    if positive == "is-json":
        return None if is_negative and value else [{"is_json": not is_negative}]
    single = re.sub("-(any|all)$", "", positive)
    texts = _texts(value, is_list=single != positive)
    if single not in _SEARCHING or not texts:
        return None
    operands = [_operand(single, text, is_negative=is_negative) for text in texts]
    if None in operands:
        return None
    # None of some texts is each of them not; not all of them is one of them not.
    is_any = positive.endswith("-all") if is_negative else positive.endswith("-any")
    return [operands] if is_any else operands


def _operand(kind: str, text: str, *, is_negative: bool) -> Any:
    """Return the constraint that a text is found, or not found; null if it is not a pattern."""
    if kind == "contains" and not is_negative and not text.startswith(PREFIX):
        return text
    try:
        inner = python_pattern(text) if kind == "regex" else re.escape(text)
    except UntranslatableError:
        return None
    if kind == "starts-with":
        inner = rf"\A{inner}"
    flags = "(?i)" if kind == "icontains" else ""
    pattern = flags + (rf"\A(?![\s\S]*(?:{inner}))" if is_negative else inner)
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    return PREFIX + pattern


def _texts(value: object, *, is_list: bool) -> list[str]:
    """Return the texts of a value; a text with commas is a list where one is expected."""
    if is_list and isinstance(value, str):
        cells = next(csv.reader([value.replace("\n", " ")], skipinitialspace=True), [])
        value = [each.strip() for each in cells if each.strip()]
    listed = value if is_list else [value]
    is_plain = isinstance(listed, list) and all(map(_is_text, listed))
    return [str(each) for each in listed] if is_plain and isinstance(listed, list) else []


def _is_text(value: object) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and value != ""


def read_reported(fields: Mapping[str, Any]) -> dict[str, float | bool] | None:
    """Return what promptfoo scored of an output; null if there is nothing.

    That is the named scores by metric, the mean score of the assertions of each type that have no
    metric, whether the test passed (`pass`) and its score (`score`). A name that a metric has is
    that of the metric; what else has this name is numbered.
    """
    grading = fields.get("gradingResult")
    grading = grading if isinstance(grading, dict) else {}
    given: dict[str, object] = {}
    for each in (grading.get("namedScores"), fields.get("namedScores")):
        given |= each if isinstance(each, dict) else {}
    named = reported_of(given.items()) or {}
    others = [
        *_scores_by_type(grading.get("componentResults")),
        ("score", fields.get("score", grading.get("score"))),
        ("pass", fields.get("success", grading.get("pass"))),
    ]
    return reported_of([*named.items(), *((numbered(name, named), each) for name, each in others)])


def _scores_by_type(components: object) -> Iterator[tuple[str, object]]:
    for each in components if isinstance(components, list) else []:
        # The results of a set follow it.
        assertion = each.get("assertion") if isinstance(each, dict) else None
        if isinstance(assertion, dict) and not assertion.get("metric"):
            kind = assertion.get("type")
            if isinstance(kind, str) and kind != _SET:
                yield kind, each.get("score")
