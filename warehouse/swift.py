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
NAME: Final = TEXT | {"UBIGINT"}
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
NOT_FINITE: Final = r"[:\[,]\s*-?(?:(?i:nan|inf|infinity)|[0-9][0-9.]*[eE]\+?[0-9]{3,}|[0-9]{300,})"

_SCENARIOS: Final = (
    "'noise_robustness', 'negative_rejection', 'information_integration', "
    "'counterfactual_robustness'"
)
QUESTION_RULES: Final = (
    "question_id <> ''",
    "doc_id <> ''",
    "perturbs <> ''",
    "\"cluster\" <> ''",
    "NOT list_contains(gold_doc_ids, '')",
    "NOT list_contains(gold_sentence_ids, '')",
    "noise_ratio BETWEEN 0 AND 1",
    "correct_choice >= 0",
    "correct_choice < len(choices)",
    f"scenario IN ({_SCENARIOS})",
    *(
        f"NOT regexp_matches({name}::VARCHAR, '{NOT_FINITE}')"
        for name in ("rubric", "constraints", "extra")
    ),
    f"NOT regexp_matches(array_to_string(map_values(tags), ','), '{NOT_FINITE}')",
)
PREDICTION_RULES: Final = (
    "question_id <> ''",
    "NOT list_contains(retrieved_doc_ids, '')",
    "NOT list_contains(retrieved_chunk_ids, '')",
    "NOT list_contains(cited_sentence_ids, '')",
    "isfinite(list_sum(retrieved_scores))",
    "latency_s >= 0 AND isfinite(latency_s)",
    "cost_usd >= 0 AND isfinite(cost_usd)",
    "list_max(choice_logprobs) <= 0 AND isfinite(list_sum(choice_logprobs))",
    "list_count(retrieved_doc_ids) IN (0, len(retrieved_doc_ids))",
    "list_count(contexts) IN (0, len(contexts))",
    f"NOT regexp_matches(extra::VARCHAR, '{NOT_FINITE}')",
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
    """The fields that occur in a file, with the types of those that are known."""

    types: dict[str, set[str]]
    names: set[str]

    @property
    def others(self) -> tuple[str, ...]:
        """The fields that no name is for."""
        return tuple(sorted(self.names - self.types.keys()))


def _survey(
    connection: duckdb.DuckDBPyConnection, path: Path, expected: Mapping[str, Field]
) -> _Survey:
    if kind(path) not in {".jsonl", ".ndjson"}:
        raise Declined("not JSON Lines")
    objects = f"read_json_objects({place(path)}, format = 'newline_delimited')"
    try:
        # The first rows mostly have all fields; where they have not, the second look is right.
        names = _look(connection, f"(FROM {objects} LIMIT 1000)", expected, set()).names
        survey = _look(connection, objects, expected, names)
        if not survey.names <= names:
            survey = _look(connection, objects, expected, survey.names)
    except duckdb.Error as error:
        raise Declined(str(error)) from error
    return survey


def _look(
    connection: duckdb.DuckDBPyConnection,
    objects: str,
    expected: Mapping[str, Field],
    names: set[str],
) -> _Survey:
    known = [name for name in expected if name in names]
    parts = {
        f"$.{name}{below}": types for name in known for below, types in expected[name].parts.items()
    }
    odd = [*UNUSUAL, RETRIEVED] if "retrieved" in known else UNUSUAL
    paths = ", ".join(literal(f"$.{name}") for name in known)
    rows = connection.execute(
        f"SELECT json_type(json), json_keys(json), json_type(json, [{paths}]::VARCHAR[]), "  # noqa: S608
        f"[{', '.join(_types(path) for path in parts)}]::VARCHAR[][], "
        f"bool_or({' OR '.join(f'regexp_matches(json, {literal(each)})' for each in odd)}) "
        f"FROM {objects} GROUP BY 1, 2, 3, 4 LIMIT {MOST_SHAPES + 1}"
    ).fetchall()
    if not rows or len(rows) > MOST_SHAPES:
        raise Declined("the file is empty, or hardly two rows look alike")
    seen = _Survey({name: set() for name in known}, set())
    for type_, keys, types, nested, is_odd in rows:
        if type_ != "OBJECT" or len(set(keys)) < len(keys) or is_odd:
            raise Declined("a row that DuckDB would read differently")
        seen.names.update(keys)
        for name, found in zip(known, types, strict=True):
            if found not in {None, "NULL"}:
                seen.types[name].add(found)
        for (place_, allowed), below in zip(parts.items(), nested, strict=True):
            if not set(below) - {None} <= allowed:
                raise Declined(f"{place_} holds {below}")
    for name in known:
        if not seen.types[name] <= expected[name].types:
            raise Declined(f"{name} holds {sorted(seen.types[name])}")
    _require_apart(seen.names, expected)
    return seen


def _types(path: str) -> str:
    if "*" in path:
        return f"list_sort(list_distinct(json_type(json, {literal(path)})))"
    return f"[nullif(json_type(json, {literal(path)}), 'NULL')]"


def _require_apart(names: set[str], expected: Mapping[str, Field]) -> None:
    # DuckDB does not tell capitals from small letters in the names of columns.
    others = names - expected.keys()
    if len({name.lower() for name in names} | expected.keys()) < len(others) + len(expected):
        raise Declined("fields differ only in capitals")
    if "" in others or len(others) > MOST_OTHERS:
        raise Declined("a field without a name, or very many")


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
