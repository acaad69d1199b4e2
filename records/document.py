"""A document: sentences with ids, or one text."""

from __future__ import annotations

from typing import Any, Final

from records import fields
from records.error_messages import RecordError, found
from records.record import Id, Record, integer

ID_NAMES: Final = ("id", "sid", "sentence_id", "sent_id")
"""The names of a sentence's id; where several are given, they are equal."""

OTHER_ID_NAMES: Final = ("key", "label", "number")
"""Names that are those of an id where none of the former is given."""

_PAIR: Final = 2


class Sentence(Record):
    """One sentence of a document."""

    id: Id | None = fields.identity("The sentence's id, unique in its document.")
    text: str = fields.given("The sentence.", ...)


class Document(Record):
    """A document as sentences or as one text."""

    doc_id: Id = fields.identity("The document's id.", ...)
    sentences: list[Any] | None = fields.given(
        "Its sentences: texts, with the ids S1, S2, ..., or objects `{id, text}`; `sid`, "
        "`sentence_id`, `sent_id`, `key`, `label` and `number` are ids, too."
    )
    text: str | None = fields.given("The whole text, instead of sentences.")

    def numbered(self) -> list[tuple[str, str]]:
        """Return the sentences as (id, text); plain texts get the ids S1, S2, ...

        Raises:
            RecordError: A sentence is neither text nor `{id, text}`, has other fields but no id or
                no id although others have one, an id occurs twice, or the document has neither
                sentences nor text.
        """
        if self.sentences is None and self.text is None:
            raise RecordError(["sentences: missing, and so is text; expected one of the two"])
        given = self.sentences if self.sentences is not None else [self.text]
        read = [_sentence(each, f"sentences[{at}]") for at, each in enumerate(given)]
        is_numbered = all(each.id is None for each in read)
        numbered: dict[str, str] = {}
        for at, each in enumerate(read):
            name = f"S{at + 1}" if is_numbered else each.id
            if name is None:
                raise RecordError([f"sentences[{at}]: no id, but other sentences have one"])
            if name in numbered:
                raise RecordError([f"sentences[{at}]: the id {name!r} occurs twice"])
            numbered[name] = each.text
        return list(numbered.items())


def sentences_by_key(given: object, place: str) -> list[list[tuple[str, str]]]:
    """Return the sentences of several documents with their keys, as RAGBench writes them.

    They are lists of `[key, text]` by document, one such list, or an object of texts by key.

    Raises:
        RecordError: They are something else.
    """
    if isinstance(given, dict):
        given = [[list(pair) for pair in given.items()]]
    if not isinstance(given, list):
        raise RecordError([f"{place}: expected a list, found {found(given)}"])
    if given and all(_is_pair(each) for each in given):
        given = [given]
    documents = []
    for number, document in enumerate(given):
        if not isinstance(document, list):
            raise RecordError([f"{place}[{number}]: expected a list, found {found(document)}"])
        documents.append(
            [
                _pair(each, f"{place}[{number}][{position}]")
                for position, each in enumerate(document)
            ]
        )
    return documents


def _is_pair(given: object) -> bool:
    return isinstance(given, list) and len(given) == _PAIR and isinstance(given[0], str)


def _pair(given: object, place: str) -> tuple[str, str]:
    if isinstance(given, list) and len(given) == _PAIR:
        key, text = given
        if isinstance(key, str) and key and isinstance(text, str):
            return key, text
    raise RecordError([f"{place}: expected [key, text], found {found(given)}"])


def _sentence(each: object, location: str) -> Sentence:
    if isinstance(each, str):
        return Sentence(text=each)
    if not isinstance(each, dict):
        raise RecordError([f"{location}: expected text or an object, found {found(each)}"])
    name = _id_name(each, location)
    try:
        return Sentence.read({"id": None if name is None else each[name], "text": each.get("text")})
    except RecordError as error:
        faults = [
            f"{name}{fault.removeprefix('id')}" if fault.startswith("id:") else fault
            for fault in error.sentences
        ]
        raise RecordError([f"{location}.{fault}" for fault in faults]) from None


def _id_name(sentence: dict[str, Any], location: str) -> str | None:
    """Return the field with the id of a sentence; null if it has none.

    Raises:
        RecordError: Several fields contradict each other, or one with another name may be the id:
            to number the sentence instead would give it the id of another one.
    """
    for names in (ID_NAMES, OTHER_ID_NAMES):
        given = [name for name in names if sentence.get(name) is not None]
        if len({str(integer(sentence[name])) for name in given}) > 1:
            listed = " and ".join(repr(name) for name in given)
            raise RecordError([f"{location}: expected one id, found {listed}, which differ"])
        if given:
            return given[0]
    others = [
        name
        for name, value in sentence.items()
        if name != "text" and isinstance(value, str | int) and not isinstance(value, bool)
    ]
    if others:
        reason = f"{location}: no id, and {others[0]!r} may be one: call the id 'id', or leave out "
        raise RecordError([reason + "all fields but 'text' for the ids S1, S2, ..."])
    return None
