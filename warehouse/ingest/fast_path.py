"""The fast path: canonical JSON Lines that DuckDB reads without validation in Python.

DuckDB accepts more than JSON allows (NaN, trailing commas) and converts values silently (numbers
to text, 1.5 to 2). A file is therefore scanned first. If anything is unusual, the scan raises
`NotFastPath`, and row-by-row validation, which defines what is correct, reads the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import duckdb

from records.prediction import may_be_id
from warehouse.formats.paths import invalid_name_reason
from warehouse.formats.readers.field_names import (
    GIVEN_BY,
    PREDICTION_ALIASES,
    QUESTION_ALIASES,
)
from warehouse.formats.readers.files import kind, require_expandable
from warehouse.ingest.fast_path_rules import (
    OBJECT,
    PREDICTION_NAME_RULES,
    PREDICTION_RULES,
    PREDICTIONS,
    QUESTION_NAME_RULES,
    QUESTION_RULES,
    QUESTIONS,
    UNSUPPORTED_IN_RETRIEVED,
)
from warehouse.ingest.json_scan import FileFields, scan_file
from warehouse.ingest.ranking_sql import retrieved_type
from warehouse.ingest.rows_sql import PREDICTION_FIELDS, QUESTION_FIELDS, JsonLines
from warehouse.schema.quoting import literal, path_literal, scan_literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from warehouse.ingest.fast_path_rules import Field


class NotFastPath(Exception):  # noqa: N818 - not a failure
    """The fast path cannot read a file; the message says why."""


MAX_SHAPES: Final = 10_000
"""The number of distinct row shapes above which a file is refused."""

MAX_EXTRA_FIELDS: Final = 200
"""The number of unknown fields that a file may have."""

UNSUPPORTED: Final = (
    r",\s*[\]}]",  # a trailing comma
    r'\\[^"\\]*"\s*:',  # an escape in a key, which could hide its name
)


def scan_questions(connection: duckdb.DuckDBPyConnection, path: Path) -> JsonLines:
    """Scan a file of questions and return how DuckDB reads it.

    Raises:
        InputError: The file is compressed, and not whole or too large.
        NotFastPath: The file needs row-by-row validation.
    """
    found = _scan(connection, path, QUESTIONS, QUESTION_ALIASES)
    fields = {name: type_ for name, type_ in QUESTION_FIELDS.items() if name in found.types}
    if {"gold_relevance", "gold_doc_ids"} <= fields.keys():
        raise NotFastPath("gold_doc_ids and gold_relevance are both given")
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
    return JsonLines(
        path=path,
        fields=fields,
        extra_fields=found.extra_fields,
        max_line_bytes=found.max_line_bytes,
        origin={"file": "$file"},
        parameters={"file": str(path)},
        rules=QUESTION_RULES | ({} if found.has_checked_names else QUESTION_NAME_RULES),
    )


def scan_predictions(
    connection: duckdb.DuckDBPyConnection, path: Path, system: str | None
) -> JsonLines:
    """Scan a file of predictions and return how DuckDB reads it.

    Raises:
        InputError: The file is compressed, and not whole or too large.
        NotFastPath: The file needs row-by-row validation.
    """
    found = _scan(connection, path, PREDICTIONS, PREDICTION_ALIASES)
    fields = {name: type_ for name, type_ in PREDICTION_FIELDS.items() if name in found.types}
    if {"choice_logprobs", "choice_probs"} <= fields.keys():
        raise NotFastPath("choice_logprobs and choice_probs are both given")
    if "repeat" in fields:
        raise NotFastPath("a question may have several answers")
    if "retrieved" in fields:
        members = found.retrieved
        if members is None:
            members = _member_names(connection, path, "retrieved[*]")
        for name in members:
            if may_be_id(name):
                raise NotFastPath(f"{name} may be the id of a document")
        fields["retrieved"] = retrieved_type(members)
    if "system" in fields:
        _require_systems(connection, path, system)
    elif system is None:
        raise NotFastPath("no row names its system")
    return JsonLines(
        path=path,
        fields=fields,
        extra_fields=found.extra_fields,
        max_line_bytes=found.max_line_bytes,
        origin={} if system is None else {"system": "$system"},
        parameters={} if system is None else {"system": system},
        rules=PREDICTION_RULES | ({} if found.has_checked_names else PREDICTION_NAME_RULES),
    )


def _scan(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    expected: Mapping[str, Field],
    aliases: Mapping[str, str],
) -> FileFields:
    if kind(path) not in {".jsonl", ".ndjson"}:
        raise NotFastPath("not JSON Lines")
    if path.suffix != kind(path):
        require_expandable(path)
    found = scan_file(path, expected) if path.suffix == kind(path) else None
    if found is None:
        found = _scan_rows(connection, path, expected)
    else:
        _require_distinct_names(found.names, expected)
    _require_no_alias(connection, path, found, aliases)
    _require_distinct_members(connection, path, {name: expected[name] for name in found.types})
    return found


def _require_no_alias(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    found: FileFields,
    aliases: Mapping[str, str],
) -> None:
    """Check that every row has a value for each field of which the file has an alias."""
    for name in aliases.keys() & found.names:
        field = aliases[name]
        given = sorted(found.in_every_row & {field, GIVEN_BY.get(field, field)})
        table = JsonLines(path=path, fields=dict.fromkeys(given, "JSON")).relation
        is_null = " AND ".join(f"nullif({each}::VARCHAR, 'null') IS NULL" for each in given)
        try:
            if not given or _count(connection, table, is_null):
                raise NotFastPath(f"{name} may stand for {field}")
        except duckdb.Error as error:
            raise NotFastPath(str(error)) from error


def _scan_rows(
    connection: duckdb.DuckDBPyConnection, path: Path, expected: Mapping[str, Field]
) -> FileFields:
    objects = scan_literal("read_json_objects", [path], ", format = 'newline_delimited'")
    try:
        # The first rows usually have all fields; if not, scan again with those that were found.
        names = _scan_shapes(connection, f"(FROM {objects} LIMIT 1000)", expected, set()).names
        found = _scan_shapes(connection, objects, expected, names)
        if not found.names <= names:
            found = _scan_shapes(connection, objects, expected, found.names)
    except duckdb.Error as error:
        raise NotFastPath(str(error)) from error
    return found


def _scan_shapes(
    connection: duckdb.DuckDBPyConnection,
    objects: str,
    expected: Mapping[str, Field],
    names: set[str],
) -> FileFields:
    known = [name for name in expected if name in names]
    parts = {
        f"$.{name}{below}": types for name in known for below, types in expected[name].parts.items()
    }
    unsupported = "|".join(
        [*UNSUPPORTED, UNSUPPORTED_IN_RETRIEVED] if "retrieved" in known else UNSUPPORTED
    )
    paths = ", ".join(literal(f"$.{name}") for name in known)
    mismatches = [_type_mismatch(path, types) for path, types in parts.items()]
    rows = connection.execute(
        f"SELECT json_keys(json), json_type(json, [{paths}]::VARCHAR[]), "  # noqa: S608
        f"bool_or({' OR '.join([f'regexp_matches(json, {literal(unsupported)})', *mismatches])}) "
        f"FROM {objects} GROUP BY 1, 2 LIMIT {MAX_SHAPES + 1}"
    ).fetchall()
    if not rows or len(rows) > MAX_SHAPES:
        raise NotFastPath("the file is empty, or its rows have too many different shapes")
    fields = FileFields(
        {name: set() for name in known},
        set(),
        in_every_row=frozenset.intersection(*(frozenset(keys or ()) for keys, *_ in rows)),
    )
    for keys, types, is_unsupported in rows:
        # Values that are not objects have no keys.
        if not keys or len(set(keys)) < len(keys) or is_unsupported:
            raise NotFastPath("a row that DuckDB would read differently")
        fields.names.update(keys)
        for name, found in zip(known, types, strict=True):
            if found not in {None, "NULL"}:
                fields.types[name].add(found)
    for name in known:
        if not fields.types[name] <= expected[name].types:
            raise NotFastPath(f"{name} has the types {sorted(fields.types[name])}")
    _require_distinct_names(fields.names, expected)
    return fields


def _type_mismatch(path: str, types: frozenset[str]) -> str:
    """Return SQL that is true where a path holds a value of another type."""
    allowed = f"[{', '.join(literal(each) for each in sorted(types))}]"
    found = f"json_type(json, {literal(path)})"
    if "*" in path:
        return f"NOT coalesce(list_has_all({allowed}, {found}), true)"
    return f"NOT coalesce(list_contains({allowed}, nullif({found}, 'NULL')), true)"


def _require_distinct_names(names: set[str], expected: Mapping[str, Field]) -> None:
    # Column names in DuckDB are case-insensitive.
    extra = names - expected.keys()
    if len({name.lower() for name in names} | expected.keys()) < len(extra) + len(expected):
        raise NotFastPath("field names differ only in case")
    if "" in extra or len(extra) > MAX_EXTRA_FIELDS:
        raise NotFastPath("a field has an empty name, or there are too many fields")


def _member_names(connection: duckdb.DuckDBPyConnection, path: Path, below: str) -> frozenset[str]:
    """Return the names of the members of the objects that are below a path of each row.

    Raises:
        NotFastPath: DuckDB cannot read them; or names repeat or differ only in case in an object,
            of which DuckDB would take one.
    """
    objects = f"json_extract(json, {literal(f'$.{below}')})"
    try:
        rows = connection.execute(
            f"SELECT DISTINCT json_keys(object) FROM (SELECT unnest({objects}) AS object "  # noqa: S608
            f"FROM read_json_objects({path_literal(path)}, format = 'newline_delimited')) "
            f"WHERE json_type(object) = 'OBJECT' LIMIT {MAX_SHAPES + 1}"
        ).fetchall()
    except duckdb.Error as error:
        raise NotFastPath(str(error)) from error
    if len(rows) > MAX_SHAPES:
        raise NotFastPath(f"{below} has too many different shapes")
    for (names,) in rows:
        if len({name.lower() for name in names}) < len(names):
            raise NotFastPath(f"a name repeats in {below}")
    return frozenset(name for (names,) in rows for name in names)


def _require_distinct_members(
    connection: duckdb.DuckDBPyConnection, path: Path, fields: Mapping[str, Field]
) -> None:
    """Check that the members of objects in lists are those that DuckDB reads by these names."""
    for name, field in fields.items():
        parts = field.parts
        for below in (part for part, types in parts.items() if types == OBJECT):
            known = {part.rpartition(".")[2] for part in parts if part.startswith(f"{below}.")}
            for member in _member_names(connection, path, f"{name}{below}") - known:
                if member.lower() in known:
                    raise NotFastPath(f"{name}: {member} differs from a field only in case")


def _require_letters(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    table = JsonLines(path=path, fields={"correct_choice": "VARCHAR"}).relation
    if _count(connection, table, "NOT regexp_full_match(correct_choice, '[A-Za-z]')"):
        raise NotFastPath("correct_choice is not a letter")


def _require_systems(connection: duckdb.DuckDBPyConnection, path: Path, system: str | None) -> None:
    table = JsonLines(path=path, fields={"system": "VARCHAR"}).relation
    rows = connection.execute(f"SELECT DISTINCT system FROM {table}").fetchall()  # noqa: S608
    for (name,) in rows:
        if name is None and system is not None:
            continue
        if name is None or (system is not None and name != system) or invalid_name_reason(name):
            raise NotFastPath("system is missing, contradicts the path or is not a valid name")


def _count(connection: duckdb.DuckDBPyConnection, table: str, condition: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchone()  # noqa: S608
    return int(row[0]) if row is not None else 0
