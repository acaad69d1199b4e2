"""SQL that turns JSON with canonical fields into rows of the tables."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from records.columns import column_of
from records.prediction import Prediction, Retrieved
from records.question import Question
from records.record import SPACES
from warehouse.ingest.ranking_sql import retrieved_type, split_retrieved
from warehouse.schema.quoting import literal, quoted, scan_literal
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from records.record import Record


def _column_types(table: str) -> dict[str, str]:
    return {column.name: column.type for column in table_named(table).columns}


def _input_types(record: type[Record], special: Mapping[str, str]) -> dict[str, str]:
    """Return the DuckDB type of each input field: that of its column unless it is special."""
    columns = {name: column_of(record, name) for name in record.annotations()}
    types = {name: each.type for name, each in columns.items() if each is not None}
    types |= special
    return {name: types[name] for name in columns}


QUESTION_FIELDS: Final = _input_types(Question, {"gold_relevance": "MAP(VARCHAR, INTEGER)"})
"""The DuckDB type with which each field of a question is read."""

PREDICTION_FIELDS: Final = _input_types(
    Prediction, {"retrieved": retrieved_type(), "choice_probs": "DOUBLE[]"}
)
"""The DuckDB type with which each field of a prediction is read."""

DOCUMENT_FIELDS: Final = {
    name: type_ for name, type_ in _column_types("documents").items() if name != "benchmark"
}
"""The DuckDB type with which each field of a sentence is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRows:
    """Rows as JSON and how to read their fields.

    Attributes:
        fields: The known fields that occur in them, with their DuckDB types.
        extra_fields: Unknown fields, sorted; they go into the column `extra`.
        origin: SQL expressions for columns that are not plain fields of the rows.
        parameters: The parameters of these expressions and of the relation.
    """

    fields: Mapping[str, str]
    extra_fields: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)

    @property
    def relation(self) -> str:
        """The texts that are bound as `$rows`, each with all fields, as a table expression."""
        types = literal(json.dumps(dict(self.fields)))
        texts = "(SELECT unnest($rows::VARCHAR[]) AS row)"
        # Strict: otherwise a value that does not fit its type would become null.
        return f"(SELECT unnest(from_json_strict(row, {types})) FROM {texts})"  # noqa: S608


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonLines(JsonRows):
    """A JSON Lines file and how to read its fields.

    Attributes:
        path: The file.
        max_line_bytes: An upper bound on the length of a line.
    """

    path: Path
    max_line_bytes: int = 16 * 1024 * 1024

    @property
    def relation(self) -> str:
        """The file as a table expression with one column for each field."""
        columns = {**self.fields, **dict.fromkeys(self.extra_fields, "JSON")}
        listed = ", ".join(f"{quoted(name)}: {literal(type_)}" for name, type_ in columns.items())
        return scan_literal(
            "read_json",
            [self.path],
            ", format = 'newline_delimited', "
            f"maximum_object_size = {self.max_line_bytes}, columns = {{{listed}}}",
        )


def select_questions(lines: JsonLines) -> str:
    """Return a SELECT of rows for `questions`, with `benchmark` and `lines.parameters` to bind."""
    given = lines.fields
    columns = _plain_columns(lines, "questions")
    answers = given.get("expected_answer")
    if answers == "VARCHAR":
        columns["expected_answers"] = (
            "CASE WHEN expected_answer IS NOT NULL THEN [expected_answer] END"
        )
    elif answers == "JSON":
        columns["expected_answers"] = (
            "CASE json_type(expected_answer) WHEN 'VARCHAR' THEN [expected_answer ->> '$'] "
            "WHEN 'ARRAY' THEN from_json(expected_answer, '[\"VARCHAR\"]') END"
        )
    elif answers is not None:
        columns["expected_answers"] = "expected_answer"
    if "gold_relevance" in given:
        judged = _entries("gold_relevance")
        columns["gold_relevance"] = (
            f"list_transform({judged}, lambda e: {{'doc_id': e.key, 'grade': e.value}})"
        )
        relevant = f"list_transform(list_filter({judged}, lambda e: e.value >= 1), lambda e: e.key)"
        given_ids = "gold_doc_ids" if "gold_doc_ids" in given else "NULL"
        columns["gold_doc_ids"] = (
            f"CASE WHEN gold_relevance IS NOT NULL THEN {relevant} ELSE {given_ids} END"
        )
    if given.get("correct_choice") == "VARCHAR":
        columns["correct_choice"] = "ascii(upper(correct_choice)) - ascii('A')"
    if {"correct_choice", "choices"} <= given.keys():
        place = columns["correct_choice"]
        columns["correct_choice"] = (
            f"CASE WHEN {place} >= len(choices) THEN error('no such choice') ELSE {place} END"
        )
    if "tags" in given:
        columns["tags"] = (
            f"map_from_entries(list_filter({_entries('tags')}, lambda e: e.value IS NOT NULL))"
        )
    if "conversation_id" in given:
        own = "cluster" if "cluster" in given else "NULL"
        columns["cluster"] = f"coalesce({own}, conversation_id)"
    return _select(lines, columns, lines.relation)


def select_predictions(lines: JsonRows) -> str:
    """Return a SELECT of rows for `predictions`; see `select_questions`."""
    given = lines.fields
    columns = _plain_columns(lines, "predictions")
    columns["repeat"] = "coalesce(repeat, 0)" if "repeat" in given else "0"
    if "error" in given:
        columns["error"] = f"CASE WHEN trim(error, {literal(SPACES)}) <> '' THEN error END"
    source = lines.relation
    if "retrieved" in given:
        source, lists = split_retrieved(source, given["retrieved"])
        texts = lists.pop("text", None)
        columns |= {_RETRIEVED[name]: values for name, values in lists.items()}
        if texts is not None:
            columns["contexts"] = f"coalesce(contexts, {texts})" if "contexts" in given else texts
    if "choice_probs" in given:
        logs = "list_transform(choice_probs, lambda p: CASE WHEN p > 0 THEN ln(p) END)"
        columns["choice_logprobs"] = (
            f"coalesce(choice_logprobs, {logs})" if "choice_logprobs" in given else logs
        )
    return _select(lines, columns, source)


def select_documents(lines: JsonLines) -> str:
    """Return a SELECT of rows for `documents`; see `select_questions`."""
    return _select(lines, _plain_columns(lines, "documents"), lines.relation)


_RETRIEVED: Final = {
    name: each.column for name, each in Retrieved.declared().items() if each.column is not None
}


def _entries(name: str) -> str:
    """Return the entries of a map; DuckDB reads maps in which a name occurs twice."""
    is_repeated = f"list_unique(map_keys({name})) < cardinality({name})"
    return f"CASE WHEN {is_repeated} THEN error('a name occurs twice') ELSE map_entries({name}) END"


def _plain_columns(lines: JsonRows, table: str) -> dict[str, str]:
    """Return the fields that fill the column of the same name."""
    types = _column_types(table)
    columns = {name: quoted(name) for name in lines.fields if name in types}
    for name in columns:
        if types[name] == "JSON" and name != "extra":
            columns[name] = f"json(nullif({quoted(name)}::VARCHAR, 'null'))"
    return columns


def _select(lines: JsonRows, columns: Mapping[str, str], source: str) -> str:
    columns = {"benchmark": "$benchmark", **columns, **lines.origin}
    if lines.extra_fields:
        columns["extra"] = _extra(lines.extra_fields)
    listed = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in columns.items())
    return f"SELECT {listed} FROM {source}"  # noqa: S608


def _extra(names: tuple[str, ...]) -> str:
    members = []
    for name in names:
        column = f"{quoted(name)}::VARCHAR"
        key = literal(json.dumps(name, ensure_ascii=False) + ":")
        members.append(f"CASE WHEN nullif({column}, 'null') IS NOT NULL THEN {key} || {column} END")
    given = f"list_filter([{', '.join(members)}], lambda x: x IS NOT NULL)"
    text = f"nullif('{{' || array_to_string({given}, ',') || '}}', '{{}}')"
    return f"json({text})"
