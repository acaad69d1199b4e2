"""SQL that turns JSON Lines with the records' own fields into rows of the warehouse's tables."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from warehouse.ingest.ranking_sql import ranked, retrieved_type
from warehouse.schema.ddl import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

QUESTION_FIELDS: Final[Mapping[str, str]] = {
    "question_id": "VARCHAR",
    "question": "VARCHAR",
    "expected_answer": "VARCHAR[]",
    "expected_parts": "VARCHAR[][]",
    "expected_label": "VARCHAR",
    "doc_id": "VARCHAR",
    "gold_doc_ids": "VARCHAR[]",
    "gold_relevance": "MAP(VARCHAR, INTEGER)",
    "gold_sentence_ids": "VARCHAR[]",
    "rubric": "JSON",
    "constraints": "JSON",
    "choices": "VARCHAR[]",
    "correct_choice": "INTEGER",
    "scenario": "VARCHAR",
    "noise_ratio": "DOUBLE",
    "counterfactual_answer": "VARCHAR",
    "perturbs": "VARCHAR",
    "perturbation": "VARCHAR",
    "cluster": "VARCHAR",
    "tags": "MAP(VARCHAR, VARCHAR)",
}
"""The types as which the fields of a question are read."""

PREDICTION_FIELDS: Final[Mapping[str, str]] = {
    "question_id": "VARCHAR",
    "system": "VARCHAR",
    "answer": "VARCHAR",
    "contexts": "VARCHAR[]",
    "retrieved": retrieved_type(),
    "cited_sentence_ids": "VARCHAR[]",
    "choice_logprobs": "DOUBLE[]",
    "choice_probs": "DOUBLE[]",
    "label": "VARCHAR",
    "latency_s": "DOUBLE",
    "cost_usd": "DOUBLE",
    "error": "VARCHAR",
}
"""The types as which the fields of a prediction are read."""

DOCUMENT_FIELDS: Final[Mapping[str, str]] = {
    "doc_id": "VARCHAR",
    "sentence_id": "VARCHAR",
    "position": "INTEGER",
    "text": "VARCHAR",
}
"""The types as which the sentences of documents are read."""

BROKEN: Final = "a value is out of its bounds"
"""What DuckDB says of a row that breaks a rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """A file of JSON Lines, and how its fields are to be read.

    Attributes:
        path: The file.
        fields: The fields that occur in it, with the types as which to read them.
        others: The fields that no column is for, sorted; they go to `extra`.
        longest: The bytes of its longest line, or more.
        origin: SQL for the columns `file` and `line`, and for `system` where rows do not say it.
        parameters: The values of the parameters in that SQL.
        rules: What has to be true of each row, with the columns of the table that it is about.
    """

    path: Path
    fields: Mapping[str, str]
    others: tuple[str, ...] = ()
    longest: int = 16 * 1024 * 1024
    origin: Mapping[str, str] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    rules: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The file as a table of SQL, one column a field."""
        columns = {**self.fields, **dict.fromkeys(self.others, "JSON")}
        listed = ", ".join(f"{quoted(name)}: {literal(type_)}" for name, type_ in columns.items())
        return (
            f"read_json({place(self.path)}, format = 'newline_delimited', "
            f"maximum_object_size = {self.longest}, columns = {{{listed}}})"
        )


def place(path: Path) -> str:
    """A path as SQL, its own `*`, `?` and `[` standing for themselves."""
    plain = "".join(f"[{each}]" if each in "*?[" else each for each in str(path))
    return literal(plain)


def question_rows(lines: Lines) -> str:
    """A SELECT of the rows of `questions`; its parameters are `benchmark` and those of `lines`."""
    given = lines.fields
    columns = {name: quoted(name) for name in _PLAIN_QUESTION if name in given}
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
        judged = "map_entries(gold_relevance)"
        columns["gold_relevance"] = (
            f"list_transform({judged}, lambda e: {{'doc_id': e.key, 'grade': e.value}})"
        )
        relevant = f"list_transform(list_filter({judged}, lambda e: e.value >= 1), lambda e: e.key)"
        stated = "gold_doc_ids" if "gold_doc_ids" in given else "NULL"
        columns["gold_doc_ids"] = (
            f"CASE WHEN gold_relevance IS NOT NULL THEN {relevant} ELSE {stated} END"
        )
    if given.get("correct_choice") == "VARCHAR":
        columns["correct_choice"] = "ascii(upper(correct_choice)) - ascii('A')"
    if "tags" in given:
        columns["tags"] = (
            "map_from_entries(list_filter(map_entries(tags), lambda e: e.value IS NOT NULL))"
        )
    for name in ("rubric", "constraints"):
        if name in given:
            columns[name] = f"json(nullif({name}::VARCHAR, 'null'))"
    return _select(lines, columns, lines.table)


def prediction_rows(lines: Lines) -> str:
    """A SELECT of the rows of `predictions`; parameters as in `question_rows`."""
    given = lines.fields
    columns = {name: quoted(name) for name in _PLAIN_PREDICTION if name in given}
    source = lines.table
    if "retrieved" in given:
        source, lists = ranked(source, given["retrieved"])
        texts = lists.pop("text", None)
        columns |= {_RETRIEVED[name]: values for name, values in lists.items()}
        if texts is not None:
            columns["contexts"] = f"coalesce(contexts, {texts})" if "contexts" in given else texts
    if "choice_probs" in given:
        logs = "list_transform(choice_probs, lambda p: CASE WHEN p > 0 THEN ln(p) END)"
        stated = "choice_logprobs" in given
        columns["choice_logprobs"] = f"coalesce(choice_logprobs, {logs})" if stated else logs
    return _select(lines, columns, source)


def document_rows(lines: Lines) -> str:
    """A SELECT of the rows of `documents`; parameters as in `question_rows`."""
    return _select(lines, {name: quoted(name) for name in lines.fields}, lines.table)


_PLAIN_QUESTION: Final = (
    "question_id",
    "question",
    "expected_parts",
    "expected_label",
    "doc_id",
    "gold_doc_ids",
    "gold_sentence_ids",
    "choices",
    "correct_choice",
    "scenario",
    "noise_ratio",
    "counterfactual_answer",
    "perturbs",
    "perturbation",
    "cluster",
)
_PLAIN_PREDICTION: Final = (
    "question_id",
    "system",
    "answer",
    "contexts",
    "cited_sentence_ids",
    "choice_logprobs",
    "label",
    "latency_s",
    "cost_usd",
    "error",
)

_RETRIEVED: Final = {
    "doc_id": "retrieved_doc_ids",
    "chunk_id": "retrieved_chunk_ids",
    "score": "retrieved_scores",
}


def _select(lines: Lines, columns: Mapping[str, str], source: str) -> str:
    columns = {"benchmark": "$benchmark", **columns, **lines.origin}
    if lines.others:
        columns["extra"] = _extra(lines.others)
    listed = ", ".join(f"{what} AS {quoted(name)}" for name, what in columns.items())
    rows = f"SELECT {listed} FROM {source}"  # noqa: S608
    held = [
        f"coalesce({rule}, true)"
        for rule, about in lines.rules.items()
        if columns.keys() >= set(about)
    ]
    if not held:
        return rows
    # Asked of the rows on their way: to read them again takes a second for a million.
    checked = f"CASE WHEN {' AND '.join(held)} THEN question_id ELSE error({literal(BROKEN)}) END"
    return f"SELECT * REPLACE ({checked} AS question_id) FROM ({rows})"  # noqa: S608


def _extra(names: tuple[str, ...]) -> str:
    members = []
    for name in names:
        column = f"{quoted(name)}::VARCHAR"
        key = literal(json.dumps(name, ensure_ascii=False) + ":")
        members.append(f"CASE WHEN nullif({column}, 'null') IS NOT NULL THEN {key} || {column} END")
    given = f"list_filter([{', '.join(members)}], lambda x: x IS NOT NULL)"
    text = f"nullif('{{' || array_to_string({given}, ',') || '}}', '{{}}')"
    return f"json({text})"
