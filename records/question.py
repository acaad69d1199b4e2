"""A question: one test case with its expected answers."""

from __future__ import annotations

import math
import re
import string
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from records import fields
from records.error_messages import RecordError, found
from records.message import ExpectedCall, Message, Tool
from records.record import (
    CONTROL,
    Id,
    Integer,
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

    description: str | None = fields.gold("What a good answer is.")
    scale: dict[str, str] | None = fields.gold("A text for each score.")


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
    """One test case with its expected answers."""

    question_id: Id = fields.identity("The question's id, unique in its benchmark.", ...)
    question: str | None = fields.given("The question's text.")
    expected_answer: Texts | None = fields.gold(
        "The expected answer, or a list of alternatives, any of which is correct.",
        title="Expected answers",
        column="expected_answers",
        stored_meaning="The expected answers, any of which is correct; null when unknown.",
    )
    expected_parts: list[Texts] | None = fields.gold(
        "The parts that a correct answer must contain, each with alternative spellings; null when "
        "there are none.",
        title="The answer must contain",
    )
    expected_label: SliceName | None = fields.gold("The expected class, for classification.")
    doc_id: Id | None = fields.given(
        "The document that the question was written about; sentence ids refer to it.",
        title="Document of the question",
    )
    gold_doc_ids: list[Id] | None = fields.gold(
        "The relevant documents (those of grade 1 and above if grades are given); null when "
        "relevance is unknown.",
        title="Documents with the evidence",
    )
    gold_relevance: dict[Id, Whole] | None = fields.gold(
        "Relevance grades by document id; a document is relevant from grade 1 on.",
        title="Graded documents",
        stored=[{"doc_id": "VARCHAR", "grade": "INTEGER"}],
        stored_meaning="The judged documents with their relevance grades; 0 is not relevant.",
    )
    gold_sentence_ids: list[Id] | None = fields.gold(
        "The sentences of `doc_id` that hold the evidence; null when unknown.",
        title="Sentences with the evidence",
    )
    rubric: Annotated[dict[str, Any], AfterValidator(_rubric)] | None = fields.gold(
        "How to score an answer: `description`, and `scale` with a text for each score."
    )
    constraints: list[Any] | None = fields.gold(
        "Tokens that an answer must or must not contain, as in the evaluator `tokens_presence`."
    )
    choices: list[Name] | None = fields.given(
        "The options of a multiple-choice question.", title="Options"
    )
    correct_choice: (
        Annotated[
            int,
            BeforeValidator(_position_of_letter, json_schema_input_type=int | str),
            Field(ge=0, le=2**31 - 1),
        ]
        | None
    ) = fields.gold(
        "The correct option: its position from 0, or its letter.",
        title="Correct option, from 0",
        stored_meaning="The position of the correct option, from 0.",
    )
    scenario: (
        Literal[
            "noise_robustness",
            "negative_rejection",
            "information_integration",
            "counterfactual_robustness",
        ]
        | None
    ) = fields.given("The ability of RGB that the question tests; all of them if it is not given.")
    noise_ratio: Share | None = fields.given(
        "The share of irrelevant passages in the context, from 0 to 1."
    )
    counterfactual_answer: str | None = fields.gold(
        "The wrong answer that the passages contain, if there is one.",
        title="False answer of the passages",
    )
    perturbs: Id | None = fields.given("The id of the question of which this one is a variant.")
    perturbation: SliceName | None = fields.given(
        "The kind of variant, such as `typo` or `paraphrase`."
    )
    cluster: Id | None = fields.gold(
        "Questions of one cluster are not independent and count as one for intervals."
    )
    tags: dict[str, Any] | None = fields.given(
        "Texts or numbers by name, which define slices.", stored="MAP(VARCHAR, VARCHAR)"
    )
    messages: list[Message] | None = fields.given(
        "The conversation before the answer.", title="Conversation", stored="JSON"
    )
    tools: list[Tool] | None = fields.given(
        "The tools that the system may call: `{name, description, parameters}`.", stored="JSON"
    )
    expected_tool_calls: list[ExpectedCall] | None = fields.gold(
        "The calls of tools that are expected: `{name, arguments, optional}`.", stored="JSON"
    )
    user_goal: str | None = fields.gold("What the user wants to reach in the conversation.")
    role_description: str | None = fields.gold("The role that the system is to keep to.")
    topics: Texts | None = fields.gold("The topics that the system is to keep to, or one topic.")
    conversation_id: Id | None = fields.gold(
        "The conversation of which the question is a turn; the default of `cluster`."
    )
    turn: Annotated[Integer, Field(ge=1, le=2**31 - 1)] | None = fields.gold(
        "The number of the turn in its conversation, from 1."
    )
    user_messages: list[str] | None = fields.given("The turns of a user who follows a script.")
    extra: dict[str, Any] | None = fields.given("All unknown fields, unchanged.")

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
