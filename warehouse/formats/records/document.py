"""A document: sentences with ids, or one text."""

from __future__ import annotations

from typing import Any

from warehouse.formats.readers.error_messages import RecordError, found
from warehouse.formats.records.record import Id, Record


class Sentence(Record):
    """One sentence of a document."""

    sid: Id | None = None
    id: Id | None = None
    text: str


class Document(Record):
    """A document as sentences or as one text.

    Attributes:
        doc_id: The id of the document.
        sentences: Its sentences: texts, with the ids S1, S2, ..., or objects `{id, text}`.
        text: The whole text, instead of sentences.
    """

    doc_id: Id
    sentences: list[Any] | None = None
    text: str | None = None

    def numbered(self) -> list[tuple[str, str]]:
        """Return the sentences as (id, text); plain texts get the ids S1, S2, ...

        Raises:
            RecordError: A sentence is neither text nor `{id, text}`, an id occurs twice, or the
                document has neither sentences nor text.
        """
        if self.sentences is None and self.text is None:
            raise RecordError(["sentences: missing, and so is text; expected one of the two"])
        given = self.sentences if self.sentences is not None else [self.text]
        numbered: dict[str, str] = {}
        for position, each in enumerate(given, start=1):
            name, text = _sentence(each, position)
            if name in numbered:
                raise RecordError([f"sentences[{position - 1}]: the id {name!r} occurs twice"])
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
        location = f"sentences[{position - 1}]"
        raise RecordError([f"{location}.{fault}" for fault in error.sentences]) from None
    return sentence.sid or sentence.id or f"S{position}", sentence.text
