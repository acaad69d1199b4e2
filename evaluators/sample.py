"""Samples: a question joined with one system's prediction, the row that an evaluator sees."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypedDict

import polars as pl

from records.columns import stored_columns
from records.prediction import Prediction
from records.question import Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polars.datatypes import DataType, DataTypeClass

    from records.columns import StoredColumn
    from records.fields import Shape
    from records.record import Record


KEYS = ("benchmark", "system", "question_id")
"""The columns that identify a sample."""

_TYPES: Mapping[str, DataTypeClass] = {
    "VARCHAR": pl.String,
    "JSON": pl.String,
    "MAP(VARCHAR, VARCHAR)": pl.String,
    "BOOLEAN": pl.Boolean,
    "INTEGER": pl.Int32,
    "BIGINT": pl.Int64,
    "DOUBLE": pl.Float64,
}
"""The Polars types of scalar shapes; a mapping is a JSON object as text."""


def _type(shape: Shape) -> DataType | DataTypeClass:
    match shape:
        case str():
            return _TYPES[shape]
        case list():
            return pl.List(_type(shape[0]))
        case _:
            return pl.Struct({name: _type(each) for name, each in shape.items()})


def _columns(record: type[Record]) -> Iterator[StoredColumn]:
    """Yield the columns of a record, without those that identify it."""
    return (each for each in stored_columns(record).values() if each.role != "identity")


COLUMNS: Mapping[str, StoredColumn] = MappingProxyType(
    {each.name: each for record in (Question, Prediction) for each in _columns(record)}
)
"""The columns that store a question or an answer; of two of one name, that of the answer."""

_DOCUMENT = pl.List(pl.Struct({"sentence_id": pl.String, "text": pl.String}))
_OPPONENTS = pl.List(pl.Struct({"system": pl.String, "answer": pl.String}))

SAMPLE_COLUMNS: Mapping[str, DataType | DataTypeClass] = MappingProxyType(
    {
        **dict.fromkeys(KEYS, pl.String),
        **{each.name: _type(each.shape) for each in _columns(Question)},
        "document_sentences": _DOCUMENT,
        "opponents": _OPPONENTS,
        **{each.name: _type(each.shape) for each in _columns(Prediction)},
    }
)
"""Every column that an evaluator may read, with its Polars type."""

ANSWER_COLUMNS = frozenset(each.name for each in _columns(Prediction) if each.role == "answer")
"""What a system answers. Scoring empties these columns where the system failed (`error`)."""


def empty_value(column: str) -> str | list[Any] | None:
    """Return what a column of answers holds where there is no answer."""
    return COLUMNS[column].empty_value


class Sentence(TypedDict):
    """A sentence of the question's document."""

    sentence_id: str
    text: str | None


class Relevance(TypedDict):
    """A document with its relevance grade; grades from 1 on are relevant."""

    doc_id: str
    grade: int


class Opponent(TypedDict):
    """Another system with its answer to the same question; the answer is None if it failed."""

    system: str
    answer: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample for evaluators that work row by row; columns that were not read are None.

    Any one of `expected_answers` is right. A right answer contains all `expected_parts`, each in
    one of its spellings; where both are given, the parts are more exact. Passages and documents
    are listed best first. `tags`, `extra` (of the question and the answer) and `reported` are JSON
    objects as text. `document_sentences` belong to the document `doc_id`; they are None if
    that document is unknown. `opponents` are the systems that an evaluator compares this one with
    on this question; they are None if no other system answered it. `repeat` numbers several
    answers to the question from 0. Attributes are declared for type checkers; a column without one
    is in `others`, and is read like an attribute.
    """

    benchmark: str
    system: str
    question_id: str
    question: str | None = None
    expected_answers: Sequence[str] | None = None
    expected_parts: Sequence[Sequence[str]] | None = None
    expected_label: str | None = None
    doc_id: str | None = None
    gold_doc_ids: Sequence[str] | None = None
    gold_relevance: Sequence[Relevance] | None = None
    gold_sentence_ids: Sequence[str] | None = None
    rubric: str | None = None
    constraints: str | None = None
    choices: Sequence[str] | None = None
    correct_choice: int | None = None
    scenario: str | None = None
    noise_ratio: float | None = None
    counterfactual_answer: str | None = None
    perturbs: str | None = None
    perturbation: str | None = None
    cluster: str | None = None
    tags: str | None = None
    extra: str | None = None
    document_sentences: Sequence[Sentence] | None = None
    opponents: Sequence[Opponent] | None = None
    answer: str | None = None
    contexts: Sequence[str] | None = None
    retrieved_doc_ids: Sequence[str] | None = None
    retrieved_chunk_ids: Sequence[str] | None = None
    retrieved_scores: Sequence[float] | None = None
    cited_sentence_ids: Sequence[str] | None = None
    choice_logprobs: Sequence[float] | None = None
    label: str | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    reported: str | None = None
    error: str | None = None
    repeat: int = 0
    others: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make a sample from a row of a frame; columns that samples do not have are ignored."""
        others = {name: row[name] for name in _OTHERS if name in row}
        return cls(**{name: row[name] for name in _FIELDS if name in row}, others=others)

    def __getattr__(self, name: str) -> Any:
        """Return a column without an attribute of its own."""
        if name in _OTHERS:
            return self.others.get(name)
        raise AttributeError(f"a sample has no column {name!r}", name=name, obj=self)


_FIELDS = tuple(each.name for each in fields(Sample) if each.name != "others")
_OTHERS = tuple(name for name in SAMPLE_COLUMNS if name not in _FIELDS)


def input_fields(column: str) -> tuple[str, ...]:
    """Return the input fields that can fill a sample column; any of them is enough."""
    if column == "document_sentences":
        return ("sentences", "text")
    if column == "opponents":
        return ("answer",)
    if column == "history":
        return ("history", "messages")
    return COLUMNS[column].fields if column in COLUMNS else (column,)


def input_file(column: str) -> str:
    """Return which files have these fields: `questions`, `predictions` or `documents`."""
    if column == "document_sentences":
        return "documents"
    if column in {"benchmark", "question_id", "extra"}:
        return "questions"
    is_predicted = column in {"opponents", "system"} or column in stored_columns(Prediction)
    return "predictions" if is_predicted else "questions"
