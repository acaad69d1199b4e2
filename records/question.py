"""A question: one test case with its expected answers."""

from __future__ import annotations

import math
import re
import string
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from records.error_messages import RecordError, found
from records.record import (
    CONTROL,
    Id,
    Name,
    Record,
    Share,
    SliceName,
    Texts,
    Whole,
    integer,
)


def _position_of_letter(value: object) -> object:
    if isinstance(value, str):
        if len(value) == 1 and value in string.ascii_letters:
            return ord(value.upper()) - ord("A")
        raise ValueError(f"expected a position from 0 or a letter, found {found(value)}")
    return integer(value)


class Rubric(Record):
    """How to score an answer; other fields of a rubric are kept."""

    description: str | None = None
    scale: dict[str, str] | None = None


def _rubric(value: dict[str, Any]) -> dict[str, Any]:
    try:
        Rubric.read(value)
    except RecordError as error:
        raise ValueError(str(error)) from None
    return value


def invalid_tag_reason(tag: str, value: object) -> str | None:
    """Return the reason why a value cannot be that of a tag; null if it can."""
    is_finite = not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, (list, dict)) or not is_finite:
        return f"tags.{tag}: expected text or a number, found {found(value)}"
    for text in (tag, value):
        if isinstance(text, str) and re.search(CONTROL, text):
            return f"tags: expected text without control characters, found {found(text)}"
    return None


class Question(Record):
    """One test case with its expected answers.

    Attributes:
        question_id: The id of the question, to which predictions refer.
        question: The text of the question.
        expected_answer: The expected answer, or a list of alternatives, any of which is correct.
        expected_parts: The parts of a correct answer, each with its alternative spellings.
        expected_label: The expected class.
        doc_id: The document that the question is about; sentence ids refer to it.
        gold_doc_ids: The relevant documents.
        gold_relevance: Relevance grades by document id; a document is relevant from grade 1 on.
        gold_sentence_ids: The sentences with the evidence.
        rubric: How to score an answer: `description`, and `scale` with a text for each score.
        constraints: Tokens that an answer must contain, as in the evaluator `tokens_presence`.
        choices: The options of a multiple-choice question.
        correct_choice: The correct option: its position from 0, or its letter.
        scenario: The ability of RGB that the question tests; all of them if it is not given.
        noise_ratio: The share of irrelevant passages in the context.
        counterfactual_answer: The wrong answer in the passages, if there is one.
        perturbs: The question of which this one is a variant.
        perturbation: The kind of variant.
        cluster: Questions of one cluster are not independent and count as one for intervals.
        tags: Texts or numbers by name, which define slices.
        extra: All unknown fields, unchanged.
    """

    question_id: Id
    question: str | None = None
    expected_answer: Texts | None = None
    expected_parts: list[Texts] | None = None
    expected_label: SliceName | None = None
    doc_id: Id | None = None
    gold_doc_ids: list[Id] | None = None
    gold_relevance: dict[Id, Whole] | None = None
    gold_sentence_ids: list[Id] | None = None
    rubric: Annotated[dict[str, Any], AfterValidator(_rubric)] | None = None
    constraints: list[Any] | None = None
    choices: list[Name] | None = None
    correct_choice: (
        Annotated[
            int,
            BeforeValidator(_position_of_letter, json_schema_input_type=int | str),
            Field(ge=0, le=2**31 - 1),
        ]
        | None
    ) = None
    scenario: (
        Literal[
            "noise_robustness",
            "negative_rejection",
            "information_integration",
            "counterfactual_robustness",
        ]
        | None
    ) = None
    noise_ratio: Share | None = None
    counterfactual_answer: str | None = None
    perturbs: Id | None = None
    perturbation: SliceName | None = None
    cluster: Id | None = None
    tags: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for tag, value in (self.tags or {}).items():
            # A tag without a value is none, whatever its name.
            reason = None if value is None else invalid_tag_reason(tag, value)
            if reason is not None:
                raise ValueError(reason)
        if self.choices is not None and self.correct_choice is not None:
            count = len(self.choices)
            if self.correct_choice >= count:
                raise ValueError(
                    f"correct_choice: position {self.correct_choice} is outside the {count} "
                    "choices, which are counted from 0"
                )
        if self.gold_relevance is not None and self.gold_doc_ids is not None:
            relevant = {doc for doc, grade in self.gold_relevance.items() if grade >= 1}
            if relevant != set(self.gold_doc_ids):
                raise ValueError(
                    "gold_doc_ids: expected the documents to which gold_relevance gives a grade "
                    "of 1 or more, or one of the two fields only"
                )
        return self
