"""TRACe: RAGBench's rows, in which a judge has labelled sentences as relevant or used."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from records.document import Document
from records.error_messages import RecordError, found
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.field_mapping import name_of, prediction_side, question_side
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.rows import Row, json_rows, rows
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

NAMES: Final = {
    "question_id": "id",
    "answer": "response",
    "gold_sentence_ids": "all_relevant_sentence_keys",
    "cited_sentence_ids": "all_utilized_sentence_keys",
    "contexts": "documents",
}
"""RAGBench's names for fields of a question or prediction."""

RELEVANT: Final = "all_relevant_sentence_keys"
USED: Final = "all_utilized_sentence_keys"
SUPPORT: Final = "sentence_support_information"
SENTENCES: Final = "documents_sentences"

_PAIR: Final = 2
_TEXTS: Final = ("question", "response", "answer", "documents")
_FENCE: Final = re.compile(r"^```\w*\s*|\s*```$")


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions; the gold sentences are those labelled relevant.

    Questions with other documents or labels in another file have neither gold sentences nor a
    document.
    """
    differing = _differing(source)
    return field_mapping.questions(
        _rows(source), lambda row, position: _question(row, position, differing), NAMES
    )


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read the sentences of a question's documents as one document with the question's id."""
    differing = _differing(source)
    return field_mapping.records(
        _rows(source), lambda row, position: _document(row, position, differing), {"doc_id": "id"}
    )


def _document(row: Row, position: int, differing: frozenset[str]) -> Read[Document]:
    is_shared = row.fields.get(SENTENCES) is not None and _name(row, position) not in differing
    pairs = [
        {"id": key, "text": text}
        for document in (_sentences(row.fields) if is_shared else ())
        for key, text in document
    ]
    fields = {"doc_id": name_of(row.fields, position), "sentences": pairs}
    return Read(Document.read(fields), row.line, row.text)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read responses; the cited sentences are those labelled used.

    The contexts are the documents, or else their sentences joined by spaces. The labels, the
    judge's further marks and the scores that RAGBench gives stay in `extra`.
    """
    differing = _differing(source)
    if differing:
        source.notes.append(
            f"{len(differing)} questions have other documents or labels in another file, such as "
            f"{min(differing)!r}: `trace` counts the labels of each answer, and citations have no "
            "gold sentences there"
        )
    unlabelled = 0

    def translate(row: Row, position: int) -> dict[str, Any]:
        nonlocal unlabelled
        record = _prediction(row, position, differing)
        is_labelled = not {RELEVANT, USED}.isdisjoint(record["extra"])
        unlabelled += not is_labelled and record.get("error") is None
        return record

    yield from field_mapping.predictions(_rows(source), source, translate, NAMES)
    if unlabelled:
        answers = "answer has" if unlabelled == 1 else "answers have"
        source.notes.append(
            f"{unlabelled:,} {answers} no stored labels ({RELEVANT}, {USED}): the evaluator "
            "`trace` leaves them out with `labels: stored`"
        )


def _rows(source: Source) -> Iterator[Row | Reject]:
    return _rows_of(source.path)


def _rows_of(path: Path) -> Iterator[Row | Reject]:
    match kind(path):
        case ".json" | ".jsonl" | ".ndjson":
            return map(_with_labels, json_rows(path, key="id"))
        case ".parquet":
            return map(_with_labels, rows(path, key="id", shape=Shape()))
        case other:
            said = f"unknown file suffix {other!r}; expected .json, .jsonl or .parquet"
            raise InputError([Problem(path, None, said)])


def _with_labels(row: Row | Reject) -> Row | Reject:
    """Put the labels of a row beside its other fields, if the file has them in a field."""
    if isinstance(row, Reject) or RELEVANT in row.fields or USED in row.fields:
        return row
    for name, value in row.fields.items():
        if name in _TEXTS:
            continue
        try:
            labels = _labels(value)
        except ValueError as error:
            return Reject(row.line, f"{name}: expected the judge's JSON, but {error}", row.text)
        if labels is not None:
            others = {key: each for key, each in row.fields.items() if key != name}
            return replace(row, fields={**labels, **others})
    return row


def _labels(value: object) -> dict[str, Any] | None:
    """Return the labels in a field, an object or the text that a judge wrote.

    Raises:
        ValueError: It has labels, but is not valid JSON.
    """
    if isinstance(value, str) and f'"{RELEVANT}"' in value:
        value = json.loads(_FENCE.sub("", value.strip()))
    return value if isinstance(value, dict) and (RELEVANT in value or USED in value) else None


def _differing(source: Source) -> frozenset[str]:
    """Return the questions whose documents or relevant sentences differ between the files."""
    if len(source.beside) < 2:  # noqa: PLR2004
        return frozenset()
    states = [(path, path.stat().st_mtime_ns) for path in source.beside if path.is_file()]
    return _differing_between(tuple(states))


@lru_cache(maxsize=4)
def _differing_between(states: tuple[tuple[Path, int], ...]) -> frozenset[str]:
    first: dict[str, bytes] = {}
    differing: set[str] = set()
    for path, _ in states:
        for position, row in enumerate(_rows_of(path), start=1):
            name = None if isinstance(row, Reject) else _name(row, position)
            if isinstance(row, Reject) or name is None:
                continue
            asked = [row.fields.get(SENTENCES), row.fields.get(RELEVANT)]
            digest = blake2b(json.dumps(asked, default=str).encode()).digest()
            if first.setdefault(name, digest) != digest:
                differing.add(name)
    return frozenset(differing)


def _name(row: Row, position: int) -> str | None:
    """Return the id of a row's question; None if it is not valid."""
    name = name_of(row.fields, position)
    return str(name) if isinstance(name, str | int) and not isinstance(name, bool) else None


def _sentences(fields: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """Return the sentences of each document with their keys."""
    given = fields.get(SENTENCES)
    if isinstance(given, dict):
        given = [[list(pair) for pair in given.items()]]
    if not isinstance(given, list):
        raise RecordError([f"{SENTENCES}: expected a list, found {found(given)}"])
    if given and all(_is_pair(each) for each in given):
        given = [given]
    documents = []
    for number, document in enumerate(given):
        if not isinstance(document, list):
            said = f"{SENTENCES}[{number}]: expected a list, found {found(document)}"
            raise RecordError([said])
        pairs = [
            _pair(each, f"{SENTENCES}[{number}][{position}]")
            for position, each in enumerate(document)
        ]
        documents.append(pairs)
    return documents


def _is_pair(given: object) -> bool:
    return isinstance(given, list) and len(given) == _PAIR and isinstance(given[0], str)


def _pair(given: object, place: str) -> tuple[str, str]:
    if isinstance(given, list) and len(given) == _PAIR:
        key, text = given
        if isinstance(key, str) and key and isinstance(text, str):
            return key, text
    raise RecordError([f"{place}: expected [key, text], found {found(given)}"])


def _fields(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.fields.items() if value is not None}


def _question(row: Row, position: int, differing: frozenset[str]) -> dict[str, Any]:
    given = _fields(row)
    record = question_side(given)
    record["question_id"] = name_of(given, position)
    if "question" not in given:
        raise RecordError(["question: missing"])
    if _name(row, position) in differing:
        return record
    if RELEVANT in given:
        record["gold_sentence_ids"] = given[RELEVANT]
    if SENTENCES in given:
        record["doc_id"] = record["question_id"]
    return record


def _prediction(row: Row, position: int, differing: frozenset[str]) -> dict[str, Any]:
    given = _fields(row)
    _require_support(given.get(SUPPORT, []))
    record = prediction_side(given)
    for name in ("id", RELEVANT, SENTENCES):
        record.pop(name, None)
    kept: dict[str, Any] = {name: given[name] for name in (RELEVANT, USED) if name in given}
    if SENTENCES in given:
        sentences = _sentences(given)
        record.setdefault("contexts", [" ".join(text for _, text in each) for each in sentences])
        if _name(row, position) in differing:
            kept[SENTENCES] = sentences
    field_mapping.rename(record, NAMES)
    if row.fields.get("response", "") is None:
        record.setdefault("answer", "")
    record["question_id"] = name_of(given, position)
    return {**record, "extra": {**record.get("extra", {}), **kept}}


def _require_support(entries: object) -> None:
    """Check the verdicts on the sentences of a response.

    Raises:
        RecordError: They are not a list of objects with a verdict that is true, false or null.
    """
    if not isinstance(entries, list):
        raise RecordError([f"{SUPPORT}: expected a list, found {found(entries)}"])
    for place, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise RecordError([f"{SUPPORT}[{place}]: expected an object, found {found(entry)}"])
        verdict = entry.get("fully_supported")
        if verdict is not None and not isinstance(verdict, bool):
            field = f"{SUPPORT}[{place}].fully_supported"
            raise RecordError([f"{field}: expected true or false, found {found(verdict)}"])


FORMAT: Final = Format(
    name="trace",
    summary="RAGBench's rows: sentences of documents and responses, with a judge's labels.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
    questions_from="predictions",
    version=3,
    parameters={"trace": {"labels": "stored"}},
)
