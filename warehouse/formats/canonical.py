"""The canonical format: rows with the field names of the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers.field_mapping import records, require_same_system
from warehouse.formats.readers.rows import rows
from warehouse.formats.readers.tabular import Shape
from warehouse.formats.records.document import Document
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question
from warehouse.formats.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from warehouse.formats.readers.rows import Row

R = TypeVar("R", bound=Record)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions from JSON Lines, JSON, CSV or Parquet."""
    return _read(Question, source, "question_id")


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read predictions; the path names the system, or each row does."""
    return _read(Prediction, source, "question_id")


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read documents from JSON Lines, JSON, CSV or Parquet."""
    return _read(Document, source, "doc_id")


def _read(kind: type[R], source: Source, key: str) -> Iterator[Read[R] | Reject]:
    def read(row: Row, _: int) -> Read[R]:
        record = kind.read(row.fields)
        if isinstance(record, Prediction):
            require_same_system(record, source)
        return Read(record, row.line, row.text)

    return records(rows(source.path, key=key, shape=Shape.of(kind)), read)


FORMAT: Final = Format(
    name="canonical",
    summary="Rows of JSON Lines, JSON, CSV or Parquet with Scoreline's own field names.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
    is_canonical=True,
)
