"""The swift lane: canonical JSON Lines that DuckDB may read itself, when nothing is unusual.

DuckDB reads more than JSON allows and converts what does not fit: it takes NaN and trailing
commas, turns numbers into text, text into numbers and 1.5 into 2. So a file is looked at first,
and whatever is unusual declines it. The careful lane then reads it, which defines what is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import duckdb

from warehouse.formats.files import kind
from warehouse.formats.paths import unusable
from warehouse.normal import (
    PREDICTION_FIELDS,
    QUESTION_FIELDS,
    Lines,
    literal,
    place,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Declined(Exception):  # noqa: N818 - not a failure
    """A file is not for the swift lane; says why."""


TEXT: Final = frozenset({"VARCHAR"})
WHOLE: Final = frozenset({"UBIGINT", "BIGINT"})
NAME: Final = TEXT | WHOLE
NUMBER: Final = WHOLE | {"DOUBLE"}
LIST: Final = frozenset({"ARRAY"})
OBJECT: Final = frozenset({"OBJECT"})


@dataclass(frozen=True, slots=True)
class Field:
    """What a field may hold in the swift lane.

    Attributes:
        types: The types, as DuckDB names those of JSON values; null is always possible.
        parts: Paths below the field, with the types that may stand there.
    """

    types: frozenset[str]
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)


_TEXT: Final = Field(TEXT)
_NAME: Final = Field(NAME)
_NUMBER: Final = Field(NUMBER)
_NAMES: Final = Field(LIST, {"[*]": NAME})

QUESTIONS: Final[Mapping[str, Field]] = {
    "question_id": _NAME,
    "question": _TEXT,
    "expected_answer": Field(TEXT | LIST, {"[*]": TEXT}),
    "expected_label": _NAME,
    "doc_id": _NAME,
    "gold_doc_ids": _NAMES,
    "gold_relevance": Field(OBJECT, {".*": WHOLE}),
    "gold_sentence_ids": _NAMES,
    "rubric": Field(OBJECT, {".description": TEXT, ".scale": OBJECT, ".scale.*": TEXT}),
    "constraints": Field(LIST),
    "choices": _NAMES,
    "correct_choice": Field(NAME),
    "scenario": _TEXT,
    "noise_ratio": _NUMBER,
    "counterfactual_answer": _TEXT,
    "perturbs": _NAME,
    "perturbation": _TEXT,
    "cluster": _NAME,
    "tags": Field(OBJECT, {".*": NUMBER | TEXT | {"BOOLEAN", "NULL"}}),
}
PREDICTIONS: Final[Mapping[str, Field]] = {
    "question_id": _NAME,
    "system": _TEXT,
    "answer": _TEXT,
    "contexts": Field(LIST, {"[*]": TEXT}),
    "retrieved": Field(LIST),
    "cited_sentence_ids": _NAMES,
    "choice_logprobs": Field(LIST, {"[*]": NUMBER | {"NULL"}}),
    "choice_probs": Field(LIST, {"[*]": NUMBER | {"NULL"}}),
    "label": _NAME,
    "latency_s": _NUMBER,
    "cost_usd": _NUMBER,
    "error": _TEXT,
}

_END: Final = r"\s*[,}\]]"
UNUSUAL: Final = "|".join(
    (
        r",\s*[\]}]",  # a trailing comma
        r'\\[^"\\]*"\s*:',  # an escape in a key, which could hide its name
        r'[\[,]\s*""' + _END,  # an empty text in a list, perhaps an id
        r'"(?:doc_id|chunk_id|perturbs|cluster)"\s*:\s*""',
        r"[:\[,]\s*-?(?:(?i:nan|inf|infinity)" + _END,
        r"[0-9][0-9.]*[eE]\+?[0-9]{3,}" + _END,  # perhaps too large for a number
        r"[0-9]{17,})",  # perhaps too large for an integer
        r"[:\[,]\s*-0" + _END,
    )
)
NULL_ELEMENT: Final = r"[\[,]\s*null\s*[,\]]"
RETRIEVED: Final = "|".join(
    (
        r'"score"\s*:\s*[^-0-9n\s]',
        r'"rank"\s*:\s*(?:[^-0-9n\s]|-?[0-9]+[.eE])',
        r'"(?:doc|chunk)_id"\s*:\s*(?:[^"0-9n\s-]|-?[0-9]+[.eE])',
        r'"text"\s*:\s*[^"n\s]',
    )
)

QUESTION_RULES: Final = (
    "question_id <> ''",
    "doc_id <> ''",
    "noise_ratio BETWEEN 0 AND 1",
    "correct_choice >= 0",
    "correct_choice < len(choices)",
    "scenario IN ('noise_robustness', 'negative_rejection', 'information_integration', "
    "'counterfactual_robustness')",
)
PREDICTION_RULES: Final = (
    "question_id <> ''",
    "latency_s >= 0",
    "cost_usd >= 0",
    "list_max(choice_logprobs) <= 0",
    "list_count(retrieved_doc_ids) IN (0, len(retrieved_doc_ids))",
    "list_count(contexts) IN (0, len(contexts))",
)


def question_lines(connection: duckdb.DuckDBPyConnection, path: Path) -> Lines:
    """How DuckDB may read a canonical file of questions.

    Raises:
        Declined: The file is not for the swift lane.
    """
    found = _survey(connection, path, QUESTIONS)
    fields = {name: type_ for name, type_ in QUESTION_FIELDS.items() if name in found.types}
    if {"gold_relevance", "gold_doc_ids"} <= fields.keys():
        raise Declined("gold documents are given in two ways")
    answers = found.types.get("expected_answer", set())
    if answers == {"VARCHAR"}:
        fields["expected_answer"] = "VARCHAR"
    elif "VARCHAR" in answers:
        fields["expected_answer"] = "JSON"
    choices = found.types.get("correct_choice", set())
    if "VARCHAR" in choices:
        if choices != {"VARCHAR"}:
            raise Declined("correct_choice is sometimes a letter")
        fields["correct_choice"] = "VARCHAR"
        _require_letters(connection, path)
    return Lines(
        path=path,
        fields=fields,
        others=found.others,
        origin={"file": "$file"},
        parameters={"file": str(path)},
    )


def prediction_lines(
    connection: duckdb.DuckDBPyConnection, path: Path, system: str | None
) -> Lines:
    """How DuckDB may read a canonical file of predictions.

    Raises:
        Declined: The file is not for the swift lane.
    """
    found = _survey(connection, path, PREDICTIONS)
    fields = {name: type_ for name, type_ in PREDICTION_FIELDS.items() if name in found.types}
    if {"choice_logprobs", "choice_probs"} <= fields.keys():
        raise Declined("probabilities are given in two ways")
    if "system" in fields:
        _require_systems(connection, path, system)
    elif system is None:
        raise Declined("no row names its system")
    return Lines(
        path=path,
        fields=fields,
        others=found.others,
        origin={} if system is None else {"system": "$system"},
        parameters={} if system is None else {"system": system},
    )


@dataclass(frozen=True, slots=True)
class _Survey:
    types: dict[str, set[str]]
    others: tuple[str, ...]


def _survey(
    connection: duckdb.DuckDBPyConnection, path: Path, expected: Mapping[str, Field]
) -> _Survey:
    if kind(path) not in {".jsonl", ".ndjson"}:
        raise Declined("not JSON Lines")
    objects = f"read_json_objects({place(path)}, format = 'newline_delimited')"
    try:
        names = _keys(connection, objects)
        known = [name for name in expected if name in names]
        return _typed(connection, objects, expected, known, names)
    except duckdb.Error as error:
        raise Declined(str(error)) from error


def _keys(connection: duckdb.DuckDBPyConnection, objects: str) -> set[str]:
    rows = connection.execute(
        f"SELECT json_keys(json) AS keys, bool_and(json_type(json) = 'OBJECT') "  # noqa: S608
        f"FROM {objects} GROUP BY 1 LIMIT 10001"
    ).fetchall()
    if not rows or len(rows) > 10000:  # noqa: PLR2004
        raise Declined("the file is empty, or hardly two rows have the same fields")
    names: set[str] = set()
    for keys, objects_only in rows:
        if not objects_only or len(set(keys)) < len(keys):
            raise Declined("a row is no object, or names a field twice")
        names.update(keys)
    if len({name.lower() for name in names}) < len(names) or "" in names:
        raise Declined("fields differ only in capitals")
    return names


def _typed(
    connection: duckdb.DuckDBPyConnection,
    objects: str,
    expected: Mapping[str, Field],
    known: list[str],
    names: set[str],
) -> _Survey:
    others = tuple(sorted(names - set(known)))
    if {name.lower() for name in others} & expected.keys() or len(others) > 200:  # noqa: PLR2004
        raise Declined("a field's name is written with capitals, or there are very many")
    paths = ", ".join(literal(f"$.{name}") for name in known)
    parts = {
        f"$.{name}{below}": types for name in known for below, types in expected[name].parts.items()
    }
    below = [
        f"list_sort(list_distinct(json_type(json, {literal(path)})))"
        if "*" in path
        else f"[json_type(json, {literal(path)})]"
        for path in parts
    ]
    unusual = [UNUSUAL]
    if "retrieved" in known:
        unusual += [NULL_ELEMENT, RETRIEVED]
    odd = " OR ".join(f"regexp_matches(json, {literal(each)})" for each in unusual)
    rows = connection.execute(
        f"SELECT json_type(json, [{paths}]), [{', '.join(below)}]::VARCHAR[][], bool_or({odd}) "  # noqa: S608
        f"FROM {objects} GROUP BY 1, 2 LIMIT 10001"
    ).fetchall()
    if len(rows) > 10000:  # noqa: PLR2004
        raise Declined("hardly two rows look alike")
    seen: dict[str, set[str]] = {name: set() for name in known}
    for types, nested, is_odd in rows:
        if is_odd:
            raise Declined("something that DuckDB would read differently")
        for name, type_ in zip(known, types, strict=True):
            if type_ not in {None, "NULL"}:
                seen[name].add(type_)
        for (path, allowed), found in zip(parts.items(), nested, strict=True):
            if not set(found) - {None} <= allowed | ({"NULL"} if "*" not in path else set()):
                raise Declined(f"{path} holds {found}")
    for name in known:
        if not seen[name] <= expected[name].types:
            raise Declined(f"{name} holds {sorted(seen[name])}")
    return _Survey(seen, others)


def _require_letters(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    table = Lines(path=path, fields={"correct_choice": "VARCHAR"}).table
    if _count(connection, table, "NOT regexp_full_match(correct_choice, '[A-Za-z]')"):
        raise Declined("correct_choice is no letter")


def _require_systems(connection: duckdb.DuckDBPyConnection, path: Path, system: str | None) -> None:
    table = Lines(path=path, fields={"system": "VARCHAR"}).table
    rows = connection.execute(f"SELECT DISTINCT system FROM {table}").fetchall()  # noqa: S608
    for (name,) in rows:
        if name is None and system is not None:
            continue
        if name is None or (system is not None and name != system) or unusable(name):
            raise Declined("system is missing, contradicts the path or cannot be used")


def _count(connection: duckdb.DuckDBPyConnection, table: str, condition: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()  # noqa: S608
    return int(row[0]) if row is not None else 0
