"""A prediction: one system's answer to one question, with what it retrieved and cited."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from warehouse.formats.records.record import (
    SPACES,
    Amount,
    Finite,
    Id,
    Integer,
    LogProbability,
    Name,
    Probability,
    Record,
)

MAX_REPEAT = 999
"""The largest number of an answer to a question."""

Repeat = Annotated[Integer, Field(ge=0, le=MAX_REPEAT)]


class Retrieved(Record):
    """One retrieved item.

    Attributes:
        doc_id: The document.
        chunk_id: The chunk of the document.
        rank: The rank, from 1; without ranks the scores determine the order, or else the list.
        score: The retriever's score.
        text: The passage.
    """

    doc_id: Id | None = None
    chunk_id: Id | None = None
    rank: Annotated[Integer, Field(ge=-(2**53), le=2**53)] | None = None
    score: Finite | None = None
    text: str | None = None


class Prediction(Record):
    """One system's answer to one question, with what it retrieved and cited.

    Attributes:
        question_id: The question.
        system: The system; not needed if the path names it.
        repeat: The number of the answer, from 0, where a question is answered several times.
        answer: The answer.
        contexts: The retrieved passages, best first.
        retrieved: The same with documents, ranks and scores; see below.
        cited_sentence_ids: The sentences that the answer cites.
        choice_logprobs: The natural log-probability of each option; above 0 only by rounding.
        choice_probs: The probability of each option, instead of its logarithm.
        label: The class that the system chose.
        latency_s: The latency of the answer in seconds.
        cost_usd: The cost of the answer in US dollars.
        error: The error with which the system failed; other fields are then ignored. An empty text
            is no error.
        extra: All unknown fields, unchanged.
    """

    question_id: Id
    system: str | None = None
    repeat: Repeat = 0
    answer: str | None = None
    contexts: list[str] | None = None
    retrieved: list[Retrieved] | None = None
    cited_sentence_ids: list[Id] | None = None
    choice_logprobs: list[LogProbability | None] | None = None
    choice_probs: list[Probability | None] | None = None
    label: Name | None = None
    latency_s: Amount | None = None
    cost_usd: Amount | None = None
    error: str | None = None
    extra: dict[str, Any] | None = None

    whole: ClassVar[tuple[str, ...]] = ("doc_id", "rank", "text")
    """The fields of `retrieved` that either all documents of a prediction have, or none."""

    @field_validator("error")
    @classmethod
    def _given(cls, error: str | None) -> str | None:
        return None if error is None or not error.strip(SPACES) else error

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
