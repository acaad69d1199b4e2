"""The swift lane: canonical JSON Lines that DuckDB may read itself, when nothing is unusual.

DuckDB reads more than JSON allows and converts what does not fit: it takes NaN and trailing
commas, turns numbers into text, text into numbers and 1.5 into 2. So a file is looked at first,
and whatever is unusual declines it. The careful lane then reads it, which defines what is right.
For most files a glance is enough; the others are looked at more closely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import duckdb

from warehouse.formats.paths import unusable
from warehouse.formats.readers.files import kind
from warehouse.ingest.fast_path_rules import (
    PREDICTION_RULES,
    PREDICTIONS,
    QUESTION_RULES,
    QUESTIONS,
)
from warehouse.ingest.json_scan import Seen, glance
from warehouse.ingest.ranking_sql import retrieved_type
from warehouse.ingest.rows_sql import PREDICTION_FIELDS, QUESTION_FIELDS, Lines, place
from warehouse.schema.ddl import literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from warehouse.ingest.fast_path_rules import Field


class NotFastPath(Exception):  # noqa: N818 - not a failure
    """A file is not for the swift lane; says why."""


MOST_SHAPES: Final = 10_000
"""The different shapes of rows up to which a file is looked at."""

MOST_OTHERS: Final = 200
"""The fields of its own that a file may have."""

UNUSUAL: Final = (
    r",\s*[\]}]",  # a trailing comma
    r'\\[^"\\]*"\s*:',  # an escape in a key, which could hide its name
)
RETRIEVED: Final = (
    r'"score"\s*:\s*[^-0-9n\s]'
    r'|"rank"\s*:\s*(?:[^-0-9n\s]|-?[0-9]+[.eE])'
    r'|"(?:doc|chunk)_id"\s*:\s*(?:[^"0-9n\s]|[0-9]+[.eE])'
    r'|"text"\s*:\s*[^"n\s]'
)


def question_lines(connection: duckdb.DuckDBPyConnection, path: Path) -> Lines:
    """How DuckDB may read a canonical file of questions.

    Raises:
        Declined: The file is not for the swift lane.
    """
    found = _survey(connection, path, QUESTIONS)
    fields = {name: type_ for name, type_ in QUESTION_FIELDS.items() if name in found.types}
    if {"gold_relevance", "gold_doc_ids"} <= fields.keys():
        raise NotFastPath("gold documents are given in two ways")
    answers = found.types.get("expected_answer", set())
    if answers == {"VARCHAR"}:
        fields["expected_answer"] = "VARCHAR"
    elif "VARCHAR" in answers:
        fields["expected_answer"] = "JSON"
    choices = found.types.get("correct_choice", set())
    if "VARCHAR" in choices:
        if choices != {"VARCHAR"}:
            raise NotFastPath("correct_choice is sometimes a letter")
        fields["correct_choice"] = "VARCHAR"
        _require_letters(connection, path)
    return Lines(
        path=path,
        fields=fields,
        others=found.others,
        longest=found.longest,
        origin={"file": "$file"},
        parameters={"file": str(path)},
        rules=QUESTION_RULES,
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
        raise NotFastPath("probabilities are given in two ways")
    if "retrieved" in fields:
        fields["retrieved"] = retrieved_type(found.retrieved)
    if "system" in fields:
        _require_systems(connection, path, system)
    elif system is None:
        raise NotFastPath("no row names its system")
    return Lines(
        path=path,
        fields=fields,
        others=found.others,
        longest=found.longest,
        origin={} if system is None else {"system": "$system"},
        parameters={} if system is None else {"system": system},
        rules=PREDICTION_RULES,
    )


def _survey(
    connection: duckdb.DuckDBPyConnection, path: Path, expected: Mapping[str, Field]
) -> Seen:
    if kind(path) not in {".jsonl", ".ndjson"}:
        raise NotFastPath("not JSON Lines")
    plain = glance(path, expected) if path.suffix == kind(path) else None
    if plain is not None:
        _require_apart(plain.names, expected)
        return plain
    return _closer(connection, path, expected)


def _closer(
    connection: duckdb.DuckDBPyConnection, path: Path, expected: Mapping[str, Field]
) -> Seen:
    objects = f"read_json_objects({place(path)}, format = 'newline_delimited')"
    try:
        # The first rows mostly have all fields; where they have not, the second look is right.
        names = _look(connection, f"(FROM {objects} LIMIT 1000)", expected, set()).names
        survey = _look(connection, objects, expected, names)
        if not survey.names <= names:
            survey = _look(connection, objects, expected, survey.names)
    except duckdb.Error as error:
        raise NotFastPath(str(error)) from error
    return survey


def _look(
    connection: duckdb.DuckDBPyConnection,
    objects: str,
    expected: Mapping[str, Field],
    names: set[str],
) -> Seen:
    known = [name for name in expected if name in names]
    parts = {
        f"$.{name}{below}": types for name in known for below, types in expected[name].parts.items()
    }
    odd = "|".join([*UNUSUAL, RETRIEVED] if "retrieved" in known else UNUSUAL)
    paths = ", ".join(literal(f"$.{name}") for name in known)
    misfits = [_misfit(path, types) for path, types in parts.items()]
    rows = connection.execute(
        f"SELECT json_keys(json), json_type(json, [{paths}]::VARCHAR[]), "  # noqa: S608
        f"bool_or({' OR '.join([f'regexp_matches(json, {literal(odd)})', *misfits])}) "
        f"FROM {objects} GROUP BY 1, 2 LIMIT {MOST_SHAPES + 1}"
    ).fetchall()
    if not rows or len(rows) > MOST_SHAPES:
        raise NotFastPath("the file is empty, or hardly two rows look alike")
    seen = Seen({name: set() for name in known}, set())
    for keys, types, is_odd in rows:
        # What is no object has no keys, and is no row.
        if not keys or len(set(keys)) < len(keys) or is_odd:
            raise NotFastPath("a row that DuckDB would read differently")
        seen.names.update(keys)
        for name, found in zip(known, types, strict=True):
            if found not in {None, "NULL"}:
                seen.types[name].add(found)
    for name in known:
        if not seen.types[name] <= expected[name].types:
            raise NotFastPath(f"{name} holds {sorted(seen.types[name])}")
    _require_apart(seen.names, expected)
    return seen


def _misfit(path: str, types: frozenset[str]) -> str:
    """Whether something that stands at a path below a field is of none of the types."""
    allowed = f"[{', '.join(literal(each) for each in sorted(types))}]"
    found = f"json_type(json, {literal(path)})"
    if "*" in path:
        return f"NOT coalesce(list_has_all({allowed}, {found}), true)"
    return f"NOT coalesce(list_contains({allowed}, nullif({found}, 'NULL')), true)"


def _require_apart(names: set[str], expected: Mapping[str, Field]) -> None:
    # DuckDB does not tell capitals from small letters in the names of columns.
    others = names - expected.keys()
    if len({name.lower() for name in names} | expected.keys()) < len(others) + len(expected):
        raise NotFastPath("fields differ only in capitals")
    if "" in others or len(others) > MOST_OTHERS:
        raise NotFastPath("a field without a name, or very many")


def _require_letters(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    table = Lines(path=path, fields={"correct_choice": "VARCHAR"}).table
    if _count(connection, table, "NOT regexp_full_match(correct_choice, '[A-Za-z]')"):
        raise NotFastPath("correct_choice is no letter")


def _require_systems(connection: duckdb.DuckDBPyConnection, path: Path, system: str | None) -> None:
    table = Lines(path=path, fields={"system": "VARCHAR"}).table
    rows = connection.execute(f"SELECT DISTINCT system FROM {table}").fetchall()  # noqa: S608
    for (name,) in rows:
        if name is None and system is not None:
            continue
        if name is None or (system is not None and name != system) or unusable(name):
            raise NotFastPath("system is missing, contradicts the path or cannot be used")


def _count(connection: duckdb.DuckDBPyConnection, table: str, condition: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()  # noqa: S608
    return int(row[0]) if row is not None else 0
