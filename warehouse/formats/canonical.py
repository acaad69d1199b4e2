"""The canonical format: rows with the field names of the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from records.document import Document
from records.error_messages import RecordError
from records.prediction import Prediction
from records.question import Question
from records.record import Record
from warehouse.formats.columns import NO_COLUMNS
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers.field_mapping import records, require_same_system
from warehouse.formats.readers.field_names import (
    PREDICTION_ALIASES,
    QUESTION_ALIASES,
    FieldNames,
)
from warehouse.formats.readers.files import kind as file_kind
from warehouse.formats.readers.rows import named_by_file, named_rows, rows
from warehouse.formats.readers.tabular import Shape, decode_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from warehouse.formats.readers.rows import Row

R = TypeVar("R", bound=Record)

_JSON: Final = frozenset({".json", ".jsonl", ".ndjson"})

KEYS: Final[Mapping[type[Record], str]] = {
    Question: "question_id",
    Prediction: "question_id",
    Document: "doc_id",
}
"""The field that every row has, by kind of record."""

ALIASES: Final[Mapping[type[Record], Mapping[str, str]]] = {
    Question: QUESTION_ALIASES,
    Prediction: PREDICTION_ALIASES,
    Document: NO_COLUMNS,
}
"""The well-known names of fields, by kind of record."""


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions from JSON Lines, JSON, CSV or Parquet."""
    return _read(Question, source)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read predictions; the path names the system, or each row does."""
    return _read(Prediction, source)


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read documents from JSON Lines, JSON, CSV or Parquet."""
    return _read(Document, source)


def _read(kind: type[R], source: Source) -> Iterator[Read[R] | Reject]:
    if source.query is not None:
        from warehouse.formats.readers.sql import query_rows

        return read_records(kind, source, query_rows(source.query))
    names = field_names(kind, source)
    if kind is Document and file_kind(source.path) in _JSON:
        found = rows(source.path, key=KEYS[kind], shape=Shape.of(kind))
        named = named_by_file(found, source.path, KEYS[kind])
        return _records(kind, source, named_rows(named, names), names)
    given = rows(source.path, key=KEYS[kind], shape=Shape.of(kind), names=names)
    return _records(kind, source, given, names)


def read_records(
    kind: type[R], source: Source, given: Iterable[Row | Reject]
) -> Iterator[Read[R] | Reject]:
    """Yield the records of rows of one file whose lists and objects may be JSON text.

    Args:
        kind: The record.
        source: The file of the rows, which names their columns.
        given: The rows, all with the same columns.
    """
    names = field_names(kind, source, with_json=True)
    named = named_rows(given, names, has_header=True)
    return _records(kind, source, named, names, with_json=True)


def field_names(kind: type[Record], source: Source, *, with_json: bool = False) -> FieldNames:
    """Return the names of the fields of a file of records."""
    names = FieldNames(
        source.path,
        kind.model_fields,
        source.columns,
        ALIASES[kind],
        used=source.aliases,
        required=KEYS[kind],
        with_json=with_json,
    )
    names.notes = source.notes
    return names


def _records(
    kind: type[R],
    source: Source,
    given: Iterable[Row | Reject],
    names: FieldNames,
    *,
    with_json: bool = False,
) -> Iterator[Read[R] | Reject]:
    shape = Shape.of(kind)

    def read(row: Row, _: int) -> Read[R]:
        try:
            record = kind.read(decode_texts(row.fields, shape) if with_json else row.fields)
        except RecordError as error:
            raise names.explain(error) from None
        if isinstance(record, Prediction):
            require_same_system(record, source)
        return Read(record, row.line, row.text)

    return records(given, read, names.written)


FORMAT: Final = Format(
    name="canonical",
    summary="Rows of JSON Lines, JSON, CSV or Parquet with Scoreline's own field names.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
    is_canonical=True,
    has_columns=True,
    version=4,
)
