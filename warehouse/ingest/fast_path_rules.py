"""Types and value rules of canonical JSON Lines that the fast path accepts.

They are derived from the annotations of the records; only fields that combine types are listed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from records.columns import column_of, stored_columns
from records.message import seconds_since_1970
from records.prediction import Prediction, Retrieved
from records.question import Question
from records.record import CONTROL, PRINTABLE_PATTERN, Id, SliceName, integer, text_of_integer
from records.shapes import (
    LARGEST_INTEGER,
    bounds,
    constraints,
    is_record,
    list_item,
    plain,
    shape_of,
)
from warehouse.formats.readers.limits import MAX_DEPTH
from warehouse.schema.quoting import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from records.record import Record

TEXT: Final = frozenset({"VARCHAR"})
WHOLE: Final = frozenset({"UBIGINT", "BIGINT"})
NAME: Final = TEXT | {"UBIGINT"}
NUMBER: Final = WHOLE | {"DOUBLE"}
LIST: Final = frozenset({"ARRAY"})
OBJECT: Final = frozenset({"OBJECT"})
NULL: Final = frozenset({"NULL"})

_LARGEST_BIGINT: Final = 2**63 - 1


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


_VALIDATORS: Final = frozenset({text_of_integer, integer, seconds_since_1970})
"""The conversions of scalar values that DuckDB does alike, or that leave numbers as they are."""


def is_name(annotation: Any) -> bool:
    """Return whether texts of a type must not contain control characters."""
    return annotation in (Id, SliceName)


def scalar_types(annotation: Any) -> frozenset[str]:
    """Return the JSON types of a scalar type; none if only row-by-row validation checks it."""
    if not all(_is_known(each) for each in constraints(annotation)):
        return frozenset()
    kind = plain(annotation)
    if get_origin(kind) is Literal:
        types = TEXT
    elif kind is str and text_of_integer in map(_function, constraints(annotation)):
        types = NAME
    else:
        types = _SCALARS.get(kind, frozenset())
    return types | NULL if types and NoneType in get_args(annotation) else types


_SCALARS: Final = {str: TEXT, int: WHOLE, float: NUMBER, bool: frozenset({"BOOLEAN"})}


def _function(constraint: Any) -> Any:
    return getattr(constraint, "func", None)


def _is_known(constraint: Any) -> bool:
    """Return whether the fast path checks a constraint, too."""
    if isinstance(constraint, BeforeValidator):
        return constraint.func in _VALIDATORS
    if isinstance(constraint, FieldInfo):
        return all(map(_is_known, constraint.metadata))
    if isinstance(constraint, MinLen):
        return constraint.min_length == 1
    options = vars(constraint) if hasattr(constraint, "__dict__") else {}
    pattern = options.get("pattern", PRINTABLE_PATTERN)
    is_general = bool(options) and options.keys() <= {"pattern", "allow_inf_nan"}
    return isinstance(constraint, Ge | Le) or (is_general and pattern == PRINTABLE_PATTERN)


def _field(annotation: Any) -> Field:
    """Return what the fast path accepts for a field; nothing if it cannot check all of it."""
    nothing = Field(frozenset())
    kind = plain(annotation)
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        if item is Any:
            return Field(LIST)
        if is_record(item):
            parts = record_parts(plain(item)) if is_simple(plain(item)) else {}
            return Field(LIST, parts) if all(parts.values()) and parts else nothing
        types = scalar_types(item)
        return Field(LIST, {"[*]": types}, item == Id) if types else nothing
    if get_origin(kind) is dict:
        types = scalar_types(get_args(kind)[1])
        return Field(OBJECT, {".*": types}) if types else nothing
    return Field(scalar_types(annotation), is_name=is_name(annotation))


def is_simple(record: type[Record]) -> bool:
    """Return whether the types of a record's fields are all of its rules."""
    decorators = record.__pydantic_decorators__
    return not (decorators.model_validators or decorators.field_validators) and all(
        info.is_required() or info.get_default() is None for info in record.model_fields.values()
    )


def record_parts(record: type[Record], path: str = "[*]") -> dict[str, frozenset[str]]:
    """Return the JSON types below a path where records are; none where they cannot be checked."""
    parts: dict[str, frozenset[str]] = {path: OBJECT}
    for name, annotation in record.annotations().items():
        item = list_item(annotation)
        if item is None:
            types = scalar_types(annotation)
            parts[f"{path}.{name}"] = types | NULL if types else types
            continue
        parts[f"{path}.{name}"] = LIST | NULL
        if not is_record(item):
            parts[f"{path}.{name}[*]"] = scalar_types(item)
        elif is_simple(plain(item)):
            parts |= record_parts(plain(item), f"{path}.{name}[*]")
        else:
            parts[f"{path}.{name}[*]"] = frozenset()
    return parts


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

_OTHER_TYPES: Final = {
    TEXT: r'[^"n\s]',
    NAME: r'(?:[^"0-9n\s]|[0-9]+[.eE])',
    WHOLE: r"(?:[^-0-9n\s]|-?[0-9]+[.eE])",
    NUMBER: r"[^-0-9n\s]",
}
"""Patterns of how JSON values of other types than these and null begin."""

UNSUPPORTED_IN_RETRIEVED: Final = "|".join(
    rf'"{name}"\s*:\s*{_OTHER_TYPES[scalar_types(each)]}'
    for name, each in Retrieved.annotations().items()
)
"""A pattern of rows in which a retrieved document has a value of a wrong type. Rows have many of
them: to extract each value takes twice as long."""

NOT_FINITE: Final = r"[:\[,]\s*-?(?:(?i:nan|inf|infinity)|[0-9][0-9.]*[eE]\+?[0-9]{3,}|[0-9]{300,})"


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Values that a rule is about.

    Attributes:
        annotation: Their type.
        sql: An expression: the value, or the list of all values of a row.
        is_list: Whether it is a list.
        is_required: Whether none of the list may be null.
    """

    annotation: Any
    sql: str
    is_list: bool = False
    is_required: bool = False


def _leaves(leaf: _Leaf) -> Iterator[_Leaf]:
    """Yield the scalar values of a field: its own, those of its list, or of its list of records."""
    item = list_item(leaf.annotation)
    if item is None:
        yield leaf
        return
    sql = f"flatten({leaf.sql})" if leaf.is_list else leaf.sql
    if not is_record(item):
        yield _Leaf(item, sql, is_list=True)
        return
    record = plain(item)
    for name, annotation in record.annotations().items():
        member = f"list_transform({sql}, lambda x: x.{quoted(name)})"
        is_required = record.model_fields[name].is_required()
        yield from _leaves(_Leaf(annotation, member, is_list=True, is_required=is_required))


def _conditions(leaf: _Leaf) -> Iterator[str]:
    """Yield the SQL conditions that follow from the type of values."""
    sql, kind = leaf.sql, plain(leaf.annotation)
    if leaf.is_required:
        yield f"list_count({sql}) = len({sql})"
    if any(_is_non_empty(each) for each in constraints(leaf.annotation)):
        yield f"NOT list_contains({sql}, '')" if leaf.is_list else f"{sql} <> ''"
    if get_origin(kind) is Literal:
        listed = ", ".join(literal(value) for value in get_args(kind))
        known = f"list_filter({sql}, lambda x: x IS NOT NULL)"
        yield f"list_has_all([{listed}], {known})" if leaf.is_list else f"{sql} IN ({listed})"
    if kind not in (int, float):
        return
    least, most = bounds(leaf.annotation)
    # DuckDB's own types refuse the other whole numbers.
    largest = LARGEST_INTEGER if shape_of(leaf.annotation) == "INTEGER" else _LARGEST_BIGINT
    if least is not None and (kind is float or least > -largest - 1):
        yield f"{f'list_min({sql})' if leaf.is_list else sql} >= {least}"
    if most is not None and (kind is float or most < largest):
        yield f"{f'list_max({sql})' if leaf.is_list else sql} <= {most}"
    if kind is float:
        yield f"isfinite(list_sum({sql}))" if leaf.is_list else f"isfinite({sql})"


def _is_non_empty(constraint: Any) -> bool:
    if isinstance(constraint, FieldInfo):
        return any(map(_is_non_empty, constraint.metadata))
    return isinstance(constraint, MinLen)


def _typed(record: type[Record]) -> Iterator[tuple[str, Any]]:
    """Yield the fields with their annotations, without those stored as JSON.

    If these have values, the file is read row by row.
    """
    for name, annotation in record.annotations().items():
        column = column_of(record, name)
        if column is None or not column.is_json:
            yield name, annotation


def _value_rules(record: type[Record]) -> dict[str, Sequence[str]]:
    """Return the SQL conditions that follow from the annotations of a record."""
    rules: dict[str, Sequence[str]] = {}
    for name, annotation in _typed(record):
        for leaf in _leaves(_Leaf(annotation, quoted(name))):
            conditions = " AND ".join(_conditions(leaf))
            if conditions:
                rules[conditions] = [name]
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


def _json_columns(record: type[Record]) -> list[str]:
    return [column.name for column in stored_columns(record).values() if column.is_json]


_QUESTION_JSON: Final = _json_columns(Question)
_PREDICTION_JSON: Final = _json_columns(Prediction)

QUESTION_RULES: Final[dict[str, Sequence[str]]] = {
    **_value_rules(Question),
    "correct_choice < len(choices)": ["correct_choice", "choices"],
    **{f"NOT regexp_matches({name}::VARCHAR, '{NOT_FINITE}')": [name] for name in _QUESTION_JSON},
    f"NOT regexp_matches(array_to_string(map_values(tags), ','), '{NOT_FINITE}')": ["tags"],
    **{_depth_rule(name): [name] for name in _QUESTION_JSON},
}
"""SQL conditions that no row of questions may break, with the columns that they read."""

PREDICTION_RULES: Final[dict[str, Sequence[str]]] = {
    **_value_rules(Prediction),
    "NOT list_contains(retrieved_doc_ids, '')": ["retrieved_doc_ids"],
    "NOT list_contains(retrieved_chunk_ids, '')": ["retrieved_chunk_ids"],
    "isfinite(list_sum(retrieved_scores))": ["retrieved_scores"],
    "list_count(retrieved_doc_ids) IN (0, len(retrieved_doc_ids))": ["retrieved_doc_ids"],
    "list_count(contexts) IN (0, len(contexts))": ["contexts"],
    **{f"NOT regexp_matches({name}::VARCHAR, '{NOT_FINITE}')": [name] for name in _PREDICTION_JSON},
    **{_depth_rule(name): [name] for name in _PREDICTION_JSON},
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
    for name, annotation in _typed(record):
        for leaf in _leaves(_Leaf(annotation, quoted(name))):
            if is_name(leaf.annotation):
                texts[f"array_to_string({leaf.sql}, '')" if leaf.is_list else leaf.sql] = [name]
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
