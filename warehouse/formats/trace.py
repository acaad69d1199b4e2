"""TRACe: RAGBench's rows, in which a judge has labelled sentences as relevant or used."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from records.document import Document, sentences_by_key
from records.error_messages import RecordError, found
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.field_mapping import (
    as_written,
    name_of,
    prediction_side,
    question_side,
)
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.rows import Row, json_rows, rows
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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

_TEXTS: Final = ("question", "response", "answer", "documents")
_FENCE: Final = re.compile(r"```\w*")


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions; the gold sentences are those labelled relevant.

    Questions with other documents in another file have neither a document nor gold sentences, and
    those with other labels no gold sentences. What a file lacks is taken from the others.
    """
    compared = _compared(source)
    return field_mapping.questions(
        _rows(source), lambda row, position: _question(row, position, compared), NAMES
    )


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read the sentences of a question's documents as one document with the question's id."""
    compared = _compared(source)
    elsewhere = 0
    for position, row in enumerate(_rows(source), start=1):
        if isinstance(row, Reject):
            yield row
            continue
        if row.fields.get(SENTENCES) is None and _name(row, position) in compared.with_documents:
            elsewhere += 1
            continue
        try:
            yield _document(row, position, compared)
        except RecordError as error:
            yield Reject(row.line, as_written(error, {"doc_id": "id"}), row.text)
    if elsewhere:
        source.notes.append(f"{elsewhere} questions have their {SENTENCES} in another file only")


def _document(row: Row, position: int, compared: _Compared) -> Read[Document]:
    given = row.fields.get(SENTENCES)
    is_shared = given is not None and _name(row, position) not in compared.documents
    pairs = [
        {"id": key, "text": text}
        for document in (sentences_by_key(given, SENTENCES) if is_shared else ())
        for key, text in document
    ]
    fields = {"doc_id": name_of(row.fields, position), "sentences": pairs}
    return Read(Document.read(fields), row.line, row.text)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read responses; the cited sentences are those labelled used.

    The contexts are the documents, or else their sentences joined by spaces. The labels, the
    judge's further marks and the scores that RAGBench gives stay in `extra`.
    """
    compared = _compared(source)
    if compared.documents:
        source.notes.append(
            f"{len(compared.documents)} questions have other documents in another file, such as "
            f"{min(compared.documents)!r}: they have neither a document nor gold sentences; "
            "`trace` counts the sentences and labels of each answer"
        )
    labels = compared.labels - compared.documents
    if labels:
        source.notes.append(
            f"{len(labels)} questions have other relevant sentences in another file, such as "
            f"{min(labels)!r}: they have no gold sentences; `trace` counts the labels of each "
            "answer"
        )
    unlabelled = 0

    def translate(row: Row, position: int) -> dict[str, Any]:
        nonlocal unlabelled
        record = _prediction(row, position, compared)
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
        except NotJsonError as error:
            return Reject(row.line, f"{name}: expected the judge's JSON, but {error}", row.text)
        if labels is not None:
            others = {key: each for key, each in row.fields.items() if key != name}
            return replace(row, fields={**labels, **others})
    return row


def _labels(value: object) -> dict[str, Any] | None:
    """Return the labels in a field, an object or the text that a judge wrote.

    Raises:
        NotJsonError: It has labels, but is not valid JSON.
    """
    if isinstance(value, str) and (f'"{RELEVANT}"' in value or f'"{USED}"' in value):
        value = decode(_without_fence(value))
    return value if isinstance(value, dict) and (RELEVANT in value or USED in value) else None


def _without_fence(text: str) -> str:
    text = text.strip()
    fence = _FENCE.match(text)
    return text if fence is None else text[fence.end() :].removesuffix("```")


@dataclass(frozen=True, slots=True)
class _Compared:
    """What several files say of the same questions.

    Attributes:
        documents: The questions with different documents.
        labels: The questions with different relevant sentences.
        with_documents: The questions with documents in a file.
        relevant: The relevant sentences of the other questions that have labels.
    """

    documents: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    with_documents: frozenset[str] = frozenset()
    relevant: Mapping[str, Any] = field(default_factory=dict)

    def gold(self, name: str | None, own: object) -> object:
        """Return the relevant sentences of a question; null if the files differ or have none."""
        if name is None or name in self.documents or name in self.labels:
            return None
        return self.relevant.get(name, own)


def _compared(source: Source) -> _Compared:
    """Compare the documents and relevant sentences of a question between the files."""
    if len(source.beside) < 2:  # noqa: PLR2004
        return _Compared()
    states = [(path, path.stat().st_mtime_ns) for path in source.beside if path.is_file()]
    return _compare(tuple(states))


@lru_cache(maxsize=4)
def _compare(states: tuple[tuple[Path, int], ...]) -> _Compared:
    digests: dict[str, bytes] = {}
    relevant: dict[str, Any] = {}
    documents, labels = set(), set()
    for path, _ in states:
        for position, row in enumerate(_rows_of(path), start=1):
            name = None if isinstance(row, Reject) else _name(row, position)
            if isinstance(row, Reject) or name is None:
                continue
            sentences, keys = row.fields.get(SENTENCES), row.fields.get(RELEVANT)
            if sentences is not None:
                digest = _digest(sentences)
                if digests.setdefault(name, digest) != digest:
                    documents.add(name)
            if keys is not None and _distinct(relevant.setdefault(name, keys)) != _distinct(keys):
                labels.add(name)
    return _Compared(frozenset(documents), frozenset(labels), frozenset(digests), relevant)


def _digest(value: object) -> bytes:
    return blake2b(json.dumps(value, default=str).encode()).digest()


def _distinct(keys: object) -> object:
    """Return labels without their order, if they are valid."""
    if isinstance(keys, list) and all(isinstance(key, str) for key in keys):
        return set(keys)
    return keys


def _name(row: Row, position: int) -> str | None:
    """Return the id of a row's question; None if it is not valid."""
    name = name_of(row.fields, position)
    return str(name) if isinstance(name, str | int) and not isinstance(name, bool) else None


def _fields(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.fields.items() if value is not None}


def _question(row: Row, position: int, compared: _Compared) -> dict[str, Any]:
    given = _fields(row)
    record = question_side(given)
    record["question_id"] = name_of(given, position)
    if "question" not in given:
        raise RecordError(["question: missing"])
    name = _name(row, position)
    gold = compared.gold(name, given.get(RELEVANT))
    if gold is not None:
        record["gold_sentence_ids"] = gold
    if (SENTENCES in given or name in compared.with_documents) and name not in compared.documents:
        record["doc_id"] = record["question_id"]
    return record


def _prediction(row: Row, position: int, compared: _Compared) -> dict[str, Any]:
    given = _fields(row)
    _require_support(given.get(SUPPORT, []))
    record = prediction_side(given)
    for name in ("id", RELEVANT, SENTENCES):
        record.pop(name, None)
    kept: dict[str, Any] = {name: given[name] for name in (RELEVANT, USED) if name in given}
    if SENTENCES in given:
        sentences = sentences_by_key(given[SENTENCES], SENTENCES)
        record.setdefault("contexts", [" ".join(text for _, text in each) for each in sentences])
        if _name(row, position) in compared.documents:
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
    version=4,
    parameters={"trace": {"labels": "stored"}},
)
