"""A question: one test case and all that is known to be right about it."""

from __future__ import annotations

import string
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from warehouse.formats.readers.error_messages import RecordError, found
from warehouse.formats.records.record import Id, Name, Record, Share, Texts, Whole


def _position_of_letter(value: object) -> object:
    if isinstance(value, str):
        if len(value) == 1 and value in string.ascii_letters:
            return ord(value.upper()) - ord("A")
        raise ValueError(f"expected a position from 0 or a letter, found {found(value)}")
    return value


class Rubric(Record):
    """How an answer is to be graded; other fields of a rubric are kept unread."""

    description: str | None = None
    scale: dict[str, str] | None = None


def _rubric(value: dict[str, Any]) -> dict[str, Any]:
    try:
        Rubric.read(value)
    except RecordError as error:
        raise ValueError(str(error)) from None
    return value


class Question(Record):
    """One test case and all that is known to be right about it.

    Attributes:
        question_id: What the question is called; other rows refer to it.
        question: Its text.
        expected_answer: The right answer, or a list of alternatives of which any will do.
        expected_parts: A right answer holds every part, each in one of its spellings.
        expected_label: The right class.
        doc_id: The document that the question is about; ids of sentences belong to it.
        gold_doc_ids: The documents that should be found.
        gold_relevance: How relevant documents are, by id; from grade 1 on a document is relevant.
        gold_sentence_ids: The sentences that bear the right answer out.
        rubric: How an answer is graded: `description`, and `scale` with a text for each grade.
        constraints: What an answer must hold, as in the evaluator `tokens_presence`.
        choices: The options, of multiple choice.
        correct_choice: The right one: its position from 0, or its letter.
        scenario: Which of RGB's abilities the question is for; all of them where it is not given.
        noise_ratio: The share of irrelevant passages among those that are given.
        counterfactual_answer: What the planted error says, where passages hold one.
        perturbs: The question that this one is a variant of.
        perturbation: What kind of variant it is.
        cluster: What belongs together: questions of one cluster count as one for intervals.
        tags: Texts or numbers by name, which a leaderboard may be sliced by.
        extra: All fields that no name is for, kept as they are.
    """

    question_id: Id
    question: str | None = None
    expected_answer: Texts | None = None
    expected_parts: list[Texts] | None = None
    expected_label: Name | None = None
    doc_id: Id | None = None
    gold_doc_ids: list[Id] | None = None
    gold_relevance: dict[str, Whole] | None = None
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
    perturbation: str | None = None
    cluster: Id | None = None
    tags: dict[str, Any] | None = None
    extra: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for tag, value in (self.tags or {}).items():
            if isinstance(value, (list, dict)):
                said = f"tags.{tag}: expected text or a number, found {found(value)}"
                raise ValueError(said)  # noqa: TRY004
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
