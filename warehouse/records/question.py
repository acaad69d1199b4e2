"""A question: one test case and all that is known to be right about it."""

from __future__ import annotations

import string
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from warehouse.formats.messages import RecordError, found
from warehouse.records.record import Id, Name, Record, Share, Whole


def _list_of_text(value: object) -> object:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise ValueError(f"expected text or a list of texts, found {found(value)}")  # noqa: TRY004
    return value


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
    """One test case and all that is known to be right about it."""

    question_id: Id
    question: str | None = None
    expected_answer: Annotated[list[str], BeforeValidator(_list_of_text)] | None = None
    expected_parts: list[Annotated[list[str], BeforeValidator(_list_of_text)]] | None = None
    expected_label: Name | None = None
    doc_id: Id | None = None
    gold_doc_ids: list[Id] | None = None
    gold_relevance: dict[str, Whole] | None = None
    gold_sentence_ids: list[Id] | None = None
    rubric: Annotated[dict[str, Any], AfterValidator(_rubric)] | None = None
    constraints: list[Any] | None = None
    choices: list[Name] | None = None
    correct_choice: (
        Annotated[int, BeforeValidator(_position_of_letter), Field(ge=0, le=2**31 - 1)] | None
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
