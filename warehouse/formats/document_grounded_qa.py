"""Document-grounded question answering: numbered questions, cited sentences, a JSON object."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from warehouse.formats.canonical import read_documents
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.rows import json_lines, json_members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.readers.rows import Row

TAGS: Final = ("question_type", "edge_case_type", "source_dataset")
"""The fields of a question that become tags."""

ASKED: Final = {"expected_answer": "answer", "gold_sentence_ids": "evidence_sentences"}
"""The file's names for fields of a question."""

GIVEN: Final = {"retrieved": "retrieved_docs", "cited_sentence_ids": "evidence_sentences"}
"""The file's names for fields of a prediction."""

_OWN: Final = {name: own for own, name in ASKED.items()}


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read questions from JSON Lines, independent of the file name.

    A question without `question_id` and `id` is called after its line: q001, q002, ... The gold
    document is `doc_id`, unless the question has `gold_doc_ids` of its own.
    """
    by_line = kind(source.path) != ".json"
    rows = json_lines(source.path) if by_line else json_members(source.path, key="question_id")
    return field_mapping.questions(rows, partial(_question, by_line=by_line), ASKED)


def _question(row: Row, position: int, *, by_line: bool) -> dict[str, Any]:
    given = {name: value for name, value in row.fields.items() if value is not None}
    fields = {_OWN.get(name, name): value for name, value in given.items()}
    other = fields.pop("id", None)
    number = f"q{row.line if by_line else position:03}"
    fields.setdefault("question_id", number if other is None else other)
    if "gold_relevance" not in fields and "doc_id" in fields:
        fields.setdefault("gold_doc_ids", [fields["doc_id"]])
    tags = {name: fields.pop(name) for name in TAGS if name in fields}
    given_tags = fields.get("tags", {})
    if tags and isinstance(given_tags, dict):
        fields["tags"] = {**tags, **given_tags}
    return field_mapping.with_own_extra(fields)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read predictions from a JSON object by question id.

    A prediction without `retrieved_docs` or `evidence_sentences` retrieved or cited nothing: the
    published evaluation counts it so.
    """
    rows = json_members(source.path, key="question_id")
    return field_mapping.predictions(rows, source, _prediction, GIVEN)


def _prediction(row: Row, _: int) -> dict[str, Any]:
    fields = {name: value for name, value in row.fields.items() if value is not None}
    fields["cited_sentence_ids"] = fields.pop("evidence_sentences", [])
    fields["retrieved"] = _retrieved(fields.pop("retrieved_docs", []))
    return field_mapping.with_own_extra(fields)


def _retrieved(documents: object) -> object:
    if isinstance(documents, list):
        return [{"doc_id": each} if isinstance(each, str) else each for each in documents]
    return documents


FORMAT: Final = Format(
    name="document-grounded-qa",
    summary="Questions about documents with gold evidence sentences; predictions by question id.",
    questions=read_questions,
    predictions=read_predictions,
    documents=read_documents,
)
