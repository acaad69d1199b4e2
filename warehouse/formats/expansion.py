"""Expansion: formats whose questions each become several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from records.error_messages import RecordError
from records.question import Question
from warehouse.formats.format import Read, Reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from warehouse.formats.format import Format, Source


@dataclass(frozen=True, slots=True)
class Expansion:
    """Makes several questions of one.

    Attributes:
        identity: What the questions depend on besides the files.
        expand: Returns the questions made of a question, both by the names of canonical fields; it
            raises ValueError for a question that is not valid.
    """

    identity: str
    expand: Callable[[Mapping[str, Any]], Sequence[Mapping[str, Any]]]


def expand_format(chosen: Format, expansion: Expansion | None) -> Format:
    """Return a format whose reader of questions yields the expanded questions.

    Questions then come from their own files only: what files of predictions ask does not matter.
    """
    if expansion is None:
        return chosen

    def questions(source: Source) -> Iterator[Read[Question] | Reject]:
        for read in chosen.questions(source):
            yield from [read] if isinstance(read, Reject) else _expand(read, expansion)

    return replace(
        chosen, questions=questions, questions_from="files", expansion=expansion.identity
    )


def _expand(read: Read[Question], expansion: Expansion) -> Sequence[Read[Question] | Reject]:
    """Return the questions made of one; or one rejected row if the expansion fails."""
    try:
        made = expansion.expand(read.record.model_dump(exclude_none=True))
        return [replace(read, record=_question(fields), is_named=True) for fields in made]
    except (ValueError, RecordError) as error:
        return [Reject(read.line, str(error), read.text)]


def _question(fields: Mapping[str, Any]) -> Question:
    """Return the record; the fields in `extra` are the unknown ones of a row."""
    known = {name: value for name, value in fields.items() if name != "extra"}
    return Question.read({**(fields.get("extra") or {}), **known})
