"""TRACe: RAGBench's rows, in which a judge has labelled sentences as relevant or used."""

from __future__ import annotations

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

_PAIR: Final = 2


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions; the gold sentences are those labelled relevant."""
    return field_mapping.questions(_rows(source), _question, NAMES)


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read the sentences of a question's documents as one document with the question's id."""
    return field_mapping.records(_rows(source), _document, {"doc_id": "id"})


def _document(row: Row, position: int) -> Read[Document]:
    pairs = [
        {"id": key, "text": text} for document in _sentences(row.fields) for key, text in document
    ]
    fields = {"doc_id": name_of(row.fields, position), "sentences": pairs}
    return Read(Document.read(fields), row.line, row.text)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read responses; the cited sentences are those labelled used.

    The contexts are the documents, or else their sentences joined by spaces. The judge's further
    marks and the scores that RAGBench gives stay in `extra`.
    """
    return field_mapping.predictions(_rows(source), source, _prediction, NAMES)


def _rows(source: Source) -> Iterator[Row | Reject]:
    match kind(source.path):
        case ".json" | ".jsonl" | ".ndjson":
            return json_rows(source.path, key="id")
        case ".parquet":
            return rows(source.path, key="id", shape=Shape())
        case other:
            said = f"unknown file suffix {other!r}; expected .json, .jsonl or .parquet"
            raise InputError([Problem(source.path, None, said)])


def _sentences(fields: dict[str, Any]) -> list[list[tuple[str, str]]]:
    """Return the sentences of each document with their keys."""
    given = fields.get("documents_sentences")
    if not isinstance(given, list):
        raise RecordError([f"documents_sentences: expected a list, found {found(given)}"])
    documents = []
    for number, document in enumerate(given):
        if not isinstance(document, list):
            said = f"documents_sentences[{number}]: expected a list, found {found(document)}"
            raise RecordError([said])
        pairs = [
            _pair(each, f"documents_sentences[{number}][{position}]")
            for position, each in enumerate(document)
        ]
        documents.append(pairs)
    return documents


def _pair(given: object, place: str) -> tuple[str, str]:
    if isinstance(given, list) and len(given) == _PAIR:
        key, text = given
        if isinstance(key, str) and key and isinstance(text, str):
            return key, text
    raise RecordError([f"{place}: expected [key, text], found {found(given)}"])


def _fields(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.fields.items() if value is not None}


def _question(row: Row, position: int) -> dict[str, Any]:
    given = _fields(row)
    record = question_side(given)
    record["question_id"] = name_of(given, position)
    if "question" not in given:
        raise RecordError(["question: missing"])
    if "all_relevant_sentence_keys" in given:
        record["gold_sentence_ids"] = given["all_relevant_sentence_keys"]
    record["doc_id"] = record["question_id"]
    return record


def _prediction(row: Row, position: int) -> dict[str, Any]:
    given = _fields(row)
    sentences = _sentences(given)
    record = prediction_side(given)
    for name in ("id", "documents_sentences", "all_relevant_sentence_keys"):
        record.pop(name, None)
    field_mapping.rename(record, NAMES)
    record["question_id"] = name_of(given, position)
    if "documents" not in given:
        record["contexts"] = [" ".join(text for _, text in pairs) for pairs in sentences]
    return record


FORMAT: Final = Format(
    name="trace",
    summary="RAGBench's rows: sentences of documents and responses, with a judge's labels.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
    questions_from="predictions",
    version=2,
)
