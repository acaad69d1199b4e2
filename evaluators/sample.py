"""Samples: a question joined with one system's prediction, the row that an evaluator sees."""

from __future__ import annotations

from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypedDict

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polars.datatypes import DataType, DataTypeClass


KEYS = ("benchmark", "system", "question_id")
"""The columns that identify a sample."""

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
        "tags": pl.String,
        "extra": pl.String,
        "document_sentences": pl.List(pl.Struct({"sentence_id": pl.String, "text": pl.String})),
        "opponents": pl.List(pl.Struct({"system": pl.String, "answer": pl.String})),
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
"""What a system answers. Scoring empties these columns where the system failed (`error`)."""


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
    are listed best first. `tags` and `extra` (of the question and the answer) are JSON objects as
    text. `document_sentences` belong to the document `doc_id`; they are None if
    that document is unknown. `opponents` are the systems that an evaluator compares this one with
    on this question; they are None if no other system answered it. `repeat` numbers several
    answers to the question from 0.
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
    cited_sentence_ids: Sequence[str] | None = None
    choice_logprobs: Sequence[float] | None = None
    label: str | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    error: str | None = None
    repeat: int = 0

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Make a sample from a row of a frame; other columns are ignored."""
        return cls(**{name: row[name] for name in _FIELDS if name in row})


_FIELDS = tuple(field.name for field in fields(Sample))


_INPUT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "expected_answers": ("expected_answer",),
    "document_sentences": ("sentences", "text"),
    "opponents": ("answer",),
    "contexts": ("contexts", "retrieved"),
    "retrieved_doc_ids": ("retrieved",),
    "choice_logprobs": ("choice_logprobs", "choice_probs"),
}
"""The input fields that can fill a column, if they are not named like it; any of them is enough."""

_PREDICTED = ANSWER_COLUMNS | {"system", "opponents", "latency_s", "cost_usd", "error"}


def input_fields(column: str) -> tuple[str, ...]:
    """Return the input fields that can fill a sample column; any of them is enough."""
    return _INPUT_FIELDS.get(column, (column,))


def input_file(column: str) -> str:
    """Return which files have these fields: `questions`, `predictions` or `documents`."""
    if column == "document_sentences":
        return "documents"
    return "predictions" if column in _PREDICTED else "questions"
