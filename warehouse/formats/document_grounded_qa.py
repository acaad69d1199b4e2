"""Document-grounded question answering: numbered questions, cited sentences, a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warehouse.formats.canonical import read_documents
from warehouse.formats.files import kind
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.messages import RecordError, found
from warehouse.formats.paths import contradiction
from warehouse.formats.rows import json_lines, json_members
from warehouse.records.prediction import Prediction
from warehouse.records.question import Question

if TYPE_CHECKING:
    from collections.abc import Iterator

TAGS: Final = ("question_type", "edge_case_type", "source_dataset")
"""The fields of a question by which results are sliced."""

RENAMED: Final = {"answer": "expected_answer", "evidence_sentences": "gold_sentence_ids"}
"""The record's names for the fields of a question."""

GIVEN: Final = {"retrieved_docs": "retrieved", "evidence_sentences": "cited_sentence_ids"}
"""The record's names for the fields of a prediction."""


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Reads questions, one JSON object a line whatever the file is called.

    A question without `question_id` and `id` is called after its line: q001, q002, ... The gold
    document is `doc_id`, unless the question has `gold_doc_ids` of its own.
    """
    if kind(source.path) == ".json":
        rows = json_members(source.path, key="question_id")
    else:
        rows = json_lines(source.path)
    for position, row in enumerate(rows, start=1):
        if isinstance(row, Reject):
            yield row
            continue
        number = position if kind(source.path) == ".json" else row.line
        try:
            yield Read(Question.read(_question(row.fields, f"q{number:03}")), row.line, row.text)
        except RecordError as error:
            yield Reject(row.line, _as_written(error, RENAMED), row.text)


def _question(given: dict[str, Any], number: str) -> dict[str, Any]:
    row = {RENAMED.get(name, name): value for name, value in given.items() if value is not None}
    other = row.pop("id", None)
    row.setdefault("question_id", number if other is None else other)
    if "gold_relevance" not in row and "doc_id" in row:
        row.setdefault("gold_doc_ids", [row["doc_id"]])
    tags = {name: row.pop(name) for name in TAGS if name in row}
    if tags:
        row["tags"] = {**tags, **row.get("tags", {})}
    return row


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Reads predictions, a JSON object of question id and prediction.

    A prediction without `retrieved_docs` or `evidence_sentences` retrieved or cited nothing: the
    published evaluation counts it so.
    """
    for row in json_members(source.path, key="question_id"):
        if isinstance(row, Reject):
            yield row
            continue
        fields = {name: value for name, value in row.fields.items() if value is not None}
        asked = fields.pop("question", None)
        fields["cited_sentence_ids"] = fields.pop("evidence_sentences", [])
        fields["retrieved"] = _retrieved(fields.pop("retrieved_docs", []))
        try:
            prediction = Prediction.read(fields)
        except RecordError as error:
            yield Reject(row.line, _as_written(error, GIVEN), row.text)
            continue
        if asked is not None and not isinstance(asked, str):
            yield Reject(row.line, f"question: expected text, found {found(asked)}", row.text)
            continue
        wrong = contradiction(prediction.system, source.system)
        if wrong is not None:
            yield Reject(row.line, wrong, row.text)
        else:
            yield Read(prediction, row.line, row.text, asked)


def _retrieved(documents: object) -> object:
    if isinstance(documents, list):
        return [{"doc_id": each} if isinstance(each, str) else each for each in documents]
    return documents


def _as_written(error: RecordError, renamed: dict[str, str]) -> str:
    said = []
    for sentence in error.sentences:
        text = sentence
        for own, name in renamed.items():
            if text.startswith(name):
                text = own + text.removeprefix(name)
        said.append(text)
    return "; ".join(said)


FORMAT: Final = Format(
    name="document-grounded-qa",
    summary="Questions about documents with gold evidence sentences; predictions by question id.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
)
