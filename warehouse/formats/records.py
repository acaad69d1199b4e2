"""The records that every input format is turned into: question, prediction, document."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from warehouse.formats.messages import RecordError, found, sentences

if TYPE_CHECKING:
    from collections.abc import Mapping


def _text_of_integer(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


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


Name = Annotated[str, BeforeValidator(_text_of_integer)]
"""Text that files often write as a whole number, such as a label."""

Id = Annotated[str, BeforeValidator(_text_of_integer), Field(min_length=1)]
"""An id: text that is not empty; whole numbers become text."""

Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
LogProbability = Annotated[float, Field(le=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
"""A whole number that fits the warehouse's INTEGER."""


class Record(BaseModel):
    """A strict record: nothing is converted but whole numbers where text is meant."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """Checks a row of a file.

        Args:
            row: The row's fields. A null field counts as absent.

        Returns:
            The record. Where the model has `extra`, it holds the fields that no name is for,
            sorted by name.

        Raises:
            RecordError: The row is not such a record; says every fault in plain sentences.
        """
        fields = {key: value for key, value in row.items() if value is not None}
        if "extra" in cls.model_fields:
            names = cls.model_fields.keys() - {"extra"}
            extra = {key: fields[key] for key in sorted(fields) if key not in names}
            fields = {key: value for key, value in fields.items() if key in names}
            fields["extra"] = extra or None
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise RecordError(sentences(error)) from None


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


class Retrieved(Record):
    """One thing that a system retrieved."""

    doc_id: Id | None = None
    chunk_id: Id | None = None
    rank: Annotated[int, Field(ge=-(2**53), le=2**53)] | None = None
    score: Finite | None = None
    text: str | None = None


class Prediction(Record):
    """One system's answer to one question, with what it retrieved and cited."""

    question_id: Id
    system: str | None = None
    answer: str | None = None
    contexts: list[str] | None = None
    retrieved: list[Retrieved] | None = None
    cited_sentence_ids: list[Id] | None = None
    choice_logprobs: list[LogProbability | None] | None = None
    choice_probs: list[Share | None] | None = None
    label: Name | None = None
    latency_s: Amount | None = None
    cost_usd: Amount | None = None
    error: str | None = None
    extra: dict[str, Any] | None = None

    whole: ClassVar[tuple[str, ...]] = ("doc_id", "rank", "text")
    """The fields of `retrieved` that all or none of a prediction's documents must have."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.choice_logprobs is not None and self.choice_probs is not None:
            raise ValueError("choice_probs: expected it or choice_logprobs, found both")
        for field in (*self.whole, "score"):
            given = sum(getattr(each, field) is not None for each in self.retrieved or ())
            if given in {0, len(self.retrieved or ())}:
                continue
            if field == "score" and all(each.rank is not None for each in self.retrieved or ()):
                continue
            raise ValueError(
                f"retrieved.{field}: expected for all documents or for none, "
                f"found for {given} of {len(self.retrieved or ())}"
            )
        return self


class Sentence(Record):
    """One sentence of a document."""

    sid: Id | None = None
    id: Id | None = None
    text: str


class Document(Record):
    """A document, cut into sentences or as one text."""

    doc_id: Id
    sentences: list[Any] | None = None
    text: str | None = None

    def numbered(self) -> list[tuple[str, str]]:
        """The document's sentences as (id, text); plain texts are numbered S1, S2, ...

        Raises:
            RecordError: A sentence is neither text nor `{id, text}`, an id stands twice, or the
                document has neither sentences nor text.
        """
        if self.sentences is None and self.text is None:
            raise RecordError(["sentences: missing, and so is text; expected one of the two"])
        given = self.sentences if self.sentences is not None else [self.text]
        numbered: dict[str, str] = {}
        for position, each in enumerate(given, start=1):
            name, text = _sentence(each, position)
            if name in numbered:
                raise RecordError([f"sentences[{position - 1}]: the id {name!r} stands twice"])
            numbered[name] = text
        return list(numbered.items())


def _sentence(each: object, position: int) -> tuple[str, str]:
    if isinstance(each, str):
        return f"S{position}", each
    if not isinstance(each, dict):
        raise RecordError(
            [f"sentences[{position - 1}]: expected text or an object, found {found(each)}"]
        )
    try:
        sentence = Sentence.read(each)
    except RecordError as error:
        place = f"sentences[{position - 1}]"
        raise RecordError([f"{place}.{fault}" for fault in error.sentences]) from None
    return sentence.sid or sentence.id or f"S{position}", sentence.text
