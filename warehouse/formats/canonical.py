"""The canonical format: rows with the field names of the records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.paths import system_conflict
from warehouse.formats.readers.error_messages import RecordError
from warehouse.formats.readers.rows import rows
from warehouse.formats.readers.tabular import Shape
from warehouse.formats.records.document import Document
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTIONS: Final = Shape.of(Question)
PREDICTIONS: Final = Shape.of(Prediction)
DOCUMENTS: Final = Shape.of(Document)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions from JSON Lines, JSON, CSV or Parquet."""
    for row in rows(source.path, key="question_id", shape=QUESTIONS):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            yield Read(Question.read(row.fields), row.line, row.text)
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read predictions; the path names the system, or each row does."""
    for row in rows(source.path, key="question_id", shape=PREDICTIONS):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            prediction = Prediction.read(row.fields)
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)
            continue
        conflict = system_conflict(prediction.system, source.system)
        yield (
            Reject(row.line, conflict, row.text)
            if conflict
            else Read(prediction, row.line, row.text)
        )


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Read documents from JSON Lines, JSON, CSV or Parquet."""
    for row in rows(source.path, key="doc_id", shape=DOCUMENTS):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            yield Read(Document.read(row.fields), row.line, row.text)
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)


FORMAT: Final = Format(
    name="canonical",
    summary="Rows of JSON Lines, JSON, CSV or Parquet with Scoreline's own field names.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
    is_canonical=True,
)
