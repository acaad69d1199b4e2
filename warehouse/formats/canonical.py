"""The canonical format: rows whose fields are those of the records themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.paths import contradiction
from warehouse.formats.readers.error_messages import RecordError
from warehouse.formats.readers.rows import rows
from warehouse.formats.readers.tabular import Shape
from warehouse.formats.records.document import Document
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

QUESTIONS: Final = Shape(
    json=frozenset(
        {
            "expected_parts",
            "gold_doc_ids",
            "gold_relevance",
            "gold_sentence_ids",
            "rubric",
            "constraints",
            "choices",
            "tags",
        }
    ),
    numbers=frozenset({"noise_ratio"}),
    text_or_json=frozenset({"expected_answer"}),
    text_or_number=frozenset({"correct_choice"}),
)
PREDICTIONS: Final = Shape(
    json=frozenset(
        {"contexts", "retrieved", "cited_sentence_ids", "choice_logprobs", "choice_probs"}
    ),
    numbers=frozenset({"latency_s", "cost_usd"}),
)
DOCUMENTS: Final = Shape(json=frozenset({"sentences"}))


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Reads questions from JSON Lines, JSON, CSV or Parquet."""
    for row in rows(source.path, key="question_id", shape=QUESTIONS):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            yield Read(Question.read(row.fields), row.line, row.text)
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Reads predictions; the system is the path's, or else the one that the row names."""
    for row in rows(source.path, key="question_id", shape=PREDICTIONS):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            prediction = Prediction.read(row.fields)
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)
            continue
        wrong = contradiction(prediction.system, source.system)
        yield Reject(row.line, wrong, row.text) if wrong else Read(prediction, row.line, row.text)


def read_documents(source: Source) -> Iterator[Read[Document] | Reject]:
    """Reads documents from JSON Lines, JSON, CSV or Parquet."""
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
