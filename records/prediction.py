"""A prediction: one system's answer to one question, with what it retrieved and cited."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, field_validator, model_validator

from records import fields
from records.message import Message, Reported, Time, Tokens, empty_as_null, last_answer
from records.record import (
    SPACES,
    Amount,
    Finite,
    Id,
    Integer,
    LogProbability,
    Name,
    Probability,
    Record,
    integer,
)

MAX_REPEAT = 999
"""The largest number of an answer to a question."""

DOCUMENT_NAMES: Final = ("document_id", "docid", "doc", "docno", "_id", "corpus_id")
"""What other tools call `doc_id`."""

_ID_NAME: Final = re.compile(
    r"(?:^|_)(?:id|key|doc|docid|docno|document|chunk|passage|pid|uid|uuid)$|[a-z]I[dD]$|^I[dD]$"
)

BOUNDED: Final = "bounded_choices"
"""The field of `extra` with the letters whose probability is only bounded."""
ORDERS: Final = "choice_logprobs_by_order"
"""Its field with the log-probabilities for each order, in the order of the question's options."""

Repeat = Annotated[Integer, Field(ge=0, le=MAX_REPEAT)]


def may_be_id(name: str) -> bool:
    """Return whether a member of what was retrieved that is not known may be an id."""
    return name not in Retrieved.model_fields and _ID_NAME.search(name) is not None


class Retrieved(Record):
    """One retrieved item."""

    doc_id: Id | None = fields.answer(
        "The document; `document_id`, `docid`, `doc`, `docno`, `_id` and `corpus_id` are read as "
        "it.",
        title="Retrieved documents",
        column="retrieved_doc_ids",
        stored_meaning="The documents retrieved, best first.",
    )
    chunk_id: Id | None = fields.answer(
        "The chunk of the document.",
        title="Retrieved chunks",
        column="retrieved_chunk_ids",
        stored_meaning="The chunks retrieved, best first.",
    )
    rank: Annotated[Integer, Field(ge=1, le=2**53)] | None = fields.answer(
        "The rank, from 1, each once; without ranks the scores determine the order, or else the "
        "list.",
        column="",
    )
    score: Finite | None = fields.answer(
        "The retriever's score.",
        title="Scores of the retriever",
        column="retrieved_scores",
        stored_meaning="The retriever's scores, in the same order.",
    )
    text: str | None = fields.answer("The passage.", column="contexts")

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        """Take the id under another name; refuse what may be one of an item without an id."""
        if not isinstance(given, dict) or given.keys() <= cls.model_fields.keys():
            return given
        if given.get("doc_id") is not None or given.get("chunk_id") is not None:
            return given
        named = {name: given[name] for name in DOCUMENT_NAMES if given.get(name) is not None}
        if len({str(integer(value)) for value in named.values()}) > 1:
            listed = " and ".join(repr(name) for name in named)
            raise ValueError(f"expected one id of a document, found {listed}, which differ")
        if named:
            return given | {"doc_id": next(iter(named.values()))}
        doubtful = [name for name, value in given.items() if value is not None and may_be_id(name)]
        if doubtful:
            raise ValueError(
                f"neither doc_id nor chunk_id, and {doubtful[0]!r} may be one of them: call it so"
            )
        return given


class Prediction(Record):
    """One system's answer to one question, with what it retrieved and cited."""

    question_id: Id = fields.identity("The question.", ...)
    system: str | None = fields.identity("The system; not needed if the path names it.")
    repeat: Repeat = fields.identity(
        "The number of the answer, from 0, where a question is answered several times.",
        0,
        stored_meaning="The number of the answer to the question; 0 where there is one.",
    )
    answer: str | None = fields.answer("The answer's text.", title="Answer")
    contexts: list[str] | None = fields.answer(
        "The texts that were retrieved, best first.", title="Passages"
    )
    retrieved: list[Retrieved] | None = fields.answer(
        "The same with documents, ranks and scores; see below.", column=""
    )
    cited_sentence_ids: list[Id] | None = fields.answer(
        "The sentences that the answer cites.", title="Sentences that the answer cites"
    )
    choice_logprobs: list[LogProbability | None] | None = fields.answer(
        "The natural log-probability of each option, in order; above 0 only by rounding.",
        title="Log-probabilities of the options",
        stored_meaning="The natural log-probability of each option, in order.",
    )
    choice_probs: list[Probability | None] | None = fields.answer(
        "The probability of each option, instead of its logarithm.", column="choice_logprobs"
    )
    label: Name | None = fields.answer(
        "The class that the system chose.", title="Label of the system"
    )
    latency_s: Amount | None = fields.measured("The latency of the answer in seconds.")
    cost_usd: Amount | None = fields.measured("The cost of the answer in US dollars.")
    error: str | None = fields.measured(
        "The error with which the system failed; other fields are then ignored. An empty text is "
        "not an error.",
        stored_meaning="The error with which the system failed; null when it answered.",
    )
    history: list[Message] | None = fields.given(
        "The conversation before the answer as this system had it; that of the question unless "
        "given.",
        stored="JSON",
    )
    messages: list[Message] | None = fields.answer(
        "What the system did for the answer, in order. The last message of the assistant with text "
        "is the answer where none is given.",
        stored="JSON",
    )
    tokens_in: Tokens | None = fields.measured(
        "The input tokens.",
        stored_meaning="The input tokens; those of systems that are asked are in `answers`.",
    )
    tokens_out: Tokens | None = fields.measured(
        "The output tokens.",
        stored_meaning="The output tokens; those of systems that are asked are in `answers`.",
    )
    started_at: Time | None = fields.measured(
        "When the answer was begun: ISO 8601 with a zone, or seconds since 1970.",
        stored_meaning="When the answer was begun, in seconds since 1970.",
    )
    ended_at: Time | None = fields.measured(
        "When it was complete: ISO 8601 with a zone, or seconds since 1970.",
        stored_meaning="When it was complete, in seconds since 1970.",
    )
    trace_id: Id | None = fields.measured("The trace of the answer.")
    error_kind: Literal["system", "infrastructure"] | None = fields.measured(
        "Whether the system or its infrastructure failed; null: the system, if there is an error."
    )
    reported: dict[str, Reported] | None = fields.measured(
        "What another tool scored: numbers, or true and false, by name.", stored="JSON"
    )
    extra: dict[str, Any] | None = fields.measured("All unknown fields, unchanged.")

    whole: ClassVar[tuple[str, ...]] = ("doc_id", "rank", "text")
    """The fields of `retrieved` that either all documents of a prediction have, or none."""

    _without_empty = field_validator("trace_id", mode="before")(empty_as_null)

    @field_validator("error")
    @classmethod
    def _given(cls, error: str | None) -> str | None:
        return None if error is None or not error.strip(SPACES) else error

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.answer is None and self.error is None:
            object.__setattr__(self, "answer", last_answer(self.messages))
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
        ranks = Counter(each.rank for each in self.retrieved or () if each.rank is not None)
        for rank, times in ranks.most_common(1):
            if times > 1:
                raise ValueError(f"retrieved.rank: expected each rank once, found {rank} again")
        return self
