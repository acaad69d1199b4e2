"""A sample: a question joined with one system's prediction, the row that an evaluator sees."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypedDict

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars.datatypes import DataType, DataTypeClass


KEYS = ("benchmark", "system", "question_id")
"""The columns that tell samples apart."""

_TEXTS = pl.List(pl.String)

SAMPLE_COLUMNS: Mapping[str, DataType | DataTypeClass] = MappingProxyType(
    {
        "benchmark": pl.String,
        "system": pl.String,
        "question_id": pl.String,
        "question": pl.String,
        "expected_answers": _TEXTS,
        "expected_parts": pl.List(_TEXTS),
        "expected_label": pl.String,
        "doc_id": pl.String,
        "gold_doc_ids": _TEXTS,
        "gold_relevance": pl.List(pl.Struct({"doc_id": pl.String, "grade": pl.Int32})),
        "gold_sentence_ids": _TEXTS,
        "rubric": pl.String,
        "constraints": pl.String,
        "choices": _TEXTS,
        "correct_choice": pl.Int32,
        "scenario": pl.String,
        "noise_ratio": pl.Float64,
        "counterfactual_answer": pl.String,
        "perturbs": pl.String,
        "perturbation": pl.String,
        "cluster": pl.String,
        "document_sentences": pl.List(pl.Struct({"sentence_id": pl.String, "text": pl.String})),
        "answer": pl.String,
        "contexts": _TEXTS,
        "retrieved_doc_ids": _TEXTS,
        "cited_sentence_ids": _TEXTS,
        "choice_logprobs": pl.List(pl.Float64),
        "label": pl.String,
        "latency_s": pl.Float64,
        "cost_usd": pl.Float64,
        "error": pl.String,
    }
)
"""Every column that an evaluator may read, with its Polars type."""

ANSWER_COLUMNS = frozenset(
    {
        "answer",
        "contexts",
        "retrieved_doc_ids",
        "cited_sentence_ids",
        "choice_logprobs",
        "label",
    }
)
"""What a system answers: empty, whatever else is there, where it failed (`error`)."""


class Sentence(TypedDict):
    """A sentence of the question's document."""

    sentence_id: str
    text: str | None


class Relevance(TypedDict):
    """A judged document and its grade; from 1 on it is relevant."""

    doc_id: str
    grade: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One sample for evaluators that work row by row; columns that were not read are None.

    Any of `expected_answers` will do. `expected_parts` are what a right answer holds all of, each
    as a list of spellings of which any will do; where both are given, the parts say more exactly
    what is right. Lists of passages and documents are best first. `document_sentences` are those
    of the document `doc_id`, None when that document is not known.
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
    document_sentences: Sequence[Sentence] | None = None
    answer: str | None = None
    contexts: Sequence[str] | None = None
    retrieved_doc_ids: Sequence[str] | None = None
    cited_sentence_ids: Sequence[str] | None = None
    choice_logprobs: Sequence[float] | None = None
    label: str | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    error: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make a sample of a frame's row, leaving out columns that are no sample columns."""
        return cls(**{name: row[name] for name in _FIELDS if name in row})


_FIELDS = tuple(field.name for field in fields(Sample))


_INPUT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "expected_answers": ("expected_answer",),
    "document_sentences": ("sentences", "text"),
    "contexts": ("contexts", "retrieved"),
    "retrieved_doc_ids": ("retrieved",),
    "choice_logprobs": ("choice_logprobs", "choice_probs"),
}
"""The fields from which a column is made, any of them, where it is not one of the same name."""

_PREDICTED = ANSWER_COLUMNS | {"system", "latency_s", "cost_usd", "error"}


def input_fields(column: str) -> tuple[str, ...]:
    """The fields of the input from which a column of samples is made; any of them is enough."""
    return _INPUT_FIELDS.get(column, (column,))


def input_file(column: str) -> str:
    """The files in which these fields stand: `questions`, `predictions` or `documents`."""
    if column == "document_sentences":
        return "documents"
    return "predictions" if column in _PREDICTED else "questions"
