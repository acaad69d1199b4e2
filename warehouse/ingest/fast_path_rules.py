"""Types and value rules of canonical JSON Lines that the fast path accepts.

They are derived from the annotations of the records; only fields that combine types are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from records.prediction import Prediction, Repeat
from records.question import Question
from records.record import (
    CONTROL,
    ROUNDING,
    Amount,
    Id,
    LogProbability,
    Name,
    Probability,
    Share,
    SliceName,
    Whole,
)
from warehouse.formats.readers.limits import MAX_DEPTH
from warehouse.schema.ddl import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from records.record import Record

TEXT: Final = frozenset({"VARCHAR"})
WHOLE: Final = frozenset({"UBIGINT", "BIGINT"})
NAME: Final = TEXT | {"UBIGINT"}
NUMBER: Final = WHOLE | {"DOUBLE"}
LIST: Final = frozenset({"ARRAY"})
OBJECT: Final = frozenset({"OBJECT"})
NULL: Final = frozenset({"NULL"})


@dataclass(frozen=True, slots=True)
class Field:
    """The JSON types that the fast path accepts for a field.

    Attributes:
        types: The types, as DuckDB names those of JSON values; null is always accepted.
        parts: Paths below the field, with the types accepted there.
        is_name: Whether its texts must not contain control characters.
    """

    types: frozenset[str]
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)
    is_name: bool = False


_SCALARS: Final = (
    (str, TEXT),
    (Id, NAME),
    (SliceName, NAME),
    (Name, NAME),
    (Whole, WHOLE),
    (Repeat, WHOLE),
    (Share, NUMBER),
    (Probability, NUMBER),
    (Amount, NUMBER),
    (LogProbability, NUMBER),
)
"""The JSON types of scalar annotations; a list, since annotations cannot be hashed."""


def _scalar_types(annotation: Any) -> frozenset[str]:
    options = get_args(annotation)
    if NoneType in options:
        return _scalar_types(options[0]) | NULL
    if get_origin(annotation) is Literal:
        return TEXT
    return next(types for known, types in _SCALARS if known == annotation)


def _field(annotation: Any) -> Field:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is list and arguments != (Any,):
        return Field(LIST, {"[*]": _scalar_types(arguments[0])}, arguments[0] == Id)
    if origin is list:
        return Field(LIST)
    if origin is dict:
        return Field(OBJECT, {".*": _scalar_types(arguments[1])})
    return Field(_scalar_types(annotation), is_name=annotation in (Id, SliceName))


def _fields(record: type[Record], special: Mapping[str, Field]) -> dict[str, Field]:
    annotations = record.annotations().items()
    return {name: special.get(name) or _field(each) for name, each in annotations}


QUESTIONS: Final = _fields(
    Question,
    {
        "expected_answer": Field(TEXT | LIST, {"[*]": TEXT}),
        "expected_parts": Field(LIST, {"[*]": LIST, "[*][*]": TEXT}),
        "rubric": Field(OBJECT, {".description": TEXT, ".scale": OBJECT, ".scale.*": TEXT}),
        "correct_choice": Field(NAME),
        "tags": Field(OBJECT, {".*": NUMBER | TEXT | NULL | {"BOOLEAN"}}, is_name=True),
    },
)
PREDICTIONS: Final = _fields(Prediction, {"retrieved": Field(LIST)})

NOT_FINITE: Final = r"[:\[,]\s*-?(?:(?i:nan|inf|infinity)|[0-9][0-9.]*[eE]\+?[0-9]{3,}|[0-9]{300,})"


def _value_rules(record: type[Record]) -> dict[str, Sequence[str]]:
    """Return the SQL conditions that follow from the annotations of a record."""
    rules: dict[str, Sequence[str]] = {}
    for name, annotation in record.annotations().items():
        column = quoted(name)
        if annotation == Id:
            rules[f"{column} <> ''"] = [name]
        elif annotation == list[Id]:
            rules[f"NOT list_contains({column}, '')"] = [name]
        elif annotation == Share:
            rules[f"{column} BETWEEN 0 AND 1"] = [name]
        elif annotation == Amount:
            rules[f"{column} >= 0 AND isfinite({column})"] = [name]
        elif get_origin(annotation) is Literal:
            listed = ", ".join(literal(value) for value in get_args(annotation))
            rules[f"{column} IN ({listed})"] = [name]
    return rules


def _depth_rule(column: str) -> str:
    """Return SQL that is true only if a JSON column is not nested too deeply.

    Brackets outside of texts are counted, without those of the innermost lists and objects: rows
    rarely have long lists of longer lists. If they do, they are read row by row.
    """
    text = f"{column}::VARCHAR"
    outer = (
        rf"""regexp_replace(regexp_replace({text}, '"(?:[^"\\]|\\.)*"', '""', 'g'), """
        r"'[\[{][^\[\]{}]*[\]}]', '', 'g')"
    )
    brackets = f"strlen({outer}) - strlen(translate({outer}, '[{{', ''))"
    # In order of cost; most rows have less text.
    return f"CASE WHEN strlen({text}) < {2 * MAX_DEPTH} THEN true ELSE {brackets} < {_DEPTH} END"


_DEPTH: Final = MAX_DEPTH - 2
"""The row and the innermost level are not counted."""

_NESTED: Final = {_depth_rule(name): [name] for name in ("rubric", "constraints", "extra")}
"""The conditions on the depth of columns that hold JSON."""


QUESTION_RULES: Final[dict[str, Sequence[str]]] = {
    **_value_rules(Question),
    "correct_choice >= 0": ["correct_choice"],
    "correct_choice < len(choices)": ["correct_choice", "choices"],
    **{
        f"NOT regexp_matches({name}::VARCHAR, '{NOT_FINITE}')": [name]
        for name in ("rubric", "constraints", "extra")
    },
    f"NOT regexp_matches(array_to_string(map_values(tags), ','), '{NOT_FINITE}')": ["tags"],
    **_NESTED,
}
"""SQL conditions that no row of questions may break, with the columns that they read."""

PREDICTION_RULES: Final[dict[str, Sequence[str]]] = {
    **_value_rules(Prediction),
    "NOT list_contains(retrieved_doc_ids, '')": ["retrieved_doc_ids"],
    "NOT list_contains(retrieved_chunk_ids, '')": ["retrieved_chunk_ids"],
    "isfinite(list_sum(retrieved_scores))": ["retrieved_scores"],
    f"list_max(choice_logprobs) <= {ROUNDING} AND isfinite(list_sum(choice_logprobs))": [
        "choice_logprobs"
    ],
    "list_count(retrieved_doc_ids) IN (0, len(retrieved_doc_ids))": ["retrieved_doc_ids"],
    "list_count(contexts) IN (0, len(contexts))": ["contexts"],
    f"NOT regexp_matches(extra::VARCHAR, '{NOT_FINITE}')": ["extra"],
    _depth_rule("extra"): ["extra"],
}
"""SQL conditions that no row of predictions may break, with the columns that they read."""


def _name_rules(
    record: type[Record], more: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Return the SQL conditions that names contain no control characters.

    Args:
        record: The record, whose ids and lists of ids are checked.
        more: SQL of other texts to be checked, with the columns that they read.
    """
    texts = {**more}
    for name, annotation in record.annotations().items():
        if annotation in (Id, SliceName):
            texts[quoted(name)] = [name]
        elif annotation == list[Id]:
            texts[f"array_to_string({quoted(name)}, '')"] = [name]
    return {
        f"NOT regexp_matches({text}, {literal(CONTROL)})": columns
        for text, columns in texts.items()
    }


_RELEVANT: Final = "list_transform(gold_relevance, lambda e: e.doc_id)"

QUESTION_NAME_RULES: Final[dict[str, Sequence[str]]] = {
    **_name_rules(
        Question,
        {
            f"array_to_string({_RELEVANT}, '')": ["gold_relevance"],
            "array_to_string(map_keys(tags), '')": ["tags"],
            "array_to_string(map_values(tags), '')": ["tags"],
        },
    ),
    f"NOT list_contains({_RELEVANT}, '')": ["gold_relevance"],
}
"""Conditions on names, for files that did not match the pattern of their first rows: it has them.
Checking a million rows in SQL takes longer."""

PREDICTION_NAME_RULES: Final[dict[str, Sequence[str]]] = _name_rules(
    Prediction,
    {
        f"array_to_string({name}, '')": [name]
        for name in ("retrieved_doc_ids", "retrieved_chunk_ids")
    },
)
"""The same for predictions."""
