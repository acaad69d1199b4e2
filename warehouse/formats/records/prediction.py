"""A prediction: one system's answer to one question, with what it retrieved and cited."""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Any, ClassVar, Final, Self

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
    integer,
)

MAX_REPEAT = 999
"""The largest number of an answer to a question."""

DOCUMENT_NAMES: Final = ("document_id", "docid", "doc", "docno", "_id", "corpus_id")
"""What other tools call `doc_id`."""

_ID_NAME: Final = re.compile(
    r"(?:^|_)(?:id|key|doc|docid|docno|document|chunk|passage|pid|uid|uuid)$|[a-z]I[dD]$|^I[dD]$"
)

Repeat = Annotated[Integer, Field(ge=0, le=MAX_REPEAT)]


def may_be_id(name: str) -> bool:
    """Return whether a member of what was retrieved that is not known may be an id."""
    return name not in Retrieved.model_fields and _ID_NAME.search(name) is not None


class Retrieved(Record):
    """One retrieved item.

    Attributes:
        doc_id: The document; `document_id`, `docid`, `doc`, `docno`, `_id` and `corpus_id` are
            read as it.
        chunk_id: The chunk of the document.
        rank: The rank, from 1, each once; without ranks the scores determine the order, or else the
            list.
        score: The retriever's score.
        text: The passage.
    """

    doc_id: Id | None = None
    chunk_id: Id | None = None
    rank: Annotated[Integer, Field(ge=1, le=2**53)] | None = None
    score: Finite | None = None
    text: str | None = None

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
            is not an error.
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
        ranks = Counter(each.rank for each in self.retrieved or () if each.rank is not None)
        for rank, times in ranks.most_common(1):
            if times > 1:
                raise ValueError(f"retrieved.rank: expected each rank once, found {rank} again")
        return self
