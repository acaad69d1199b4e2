"""Identifies questions by their text where files have no ids for them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found

if TYPE_CHECKING:
    from collections.abc import Mapping

    from records.question import Question
    from warehouse.formats.format import Read

NEEDS_ID: Final = "questions with the same text need an `id`"


class QuestionTexts:
    """The ids of questions by text.

    Questions without an id are called q001, q002, ... in the order in which their texts occur, over
    all files.
    """

    def __init__(self, questions: Mapping[str, str | None] | None = None) -> None:
        """Take the texts of the known questions by id."""
        self._questions = {} if questions is None else questions
        self._named: dict[str, str] = {}
        self._nameless: dict[str, str] = {}
        self._taken: set[str] = set()

    def identify(self, read: Read[Any], question: Question) -> Question:
        """Return a question with the id that its text has, unless the file names it.

        Raises:
            RecordError: It has no text.
        """
        text = read.question_text
        if read.is_named:
            if text is not None:
                self._taken.add(question.question_id)
                self._named.setdefault(text, question.question_id)
            return question
        if text is None:
            raise RecordError(["question: expected the text of the question, or an id"])
        name = self._named.get(text) or self._nameless.get(text)
        if name is None:
            number = len(self._nameless) + 1
            while f"q{number:03}" in self._taken:
                number += 1
            name = f"q{number:03}"
            self._taken.add(name)
            self._nameless[text] = name
        return question.model_copy(update={"question_id": name})

    def find(self, text: str | None) -> str | None:
        """Return the id of the only question with a text; null if there are none or several."""
        names = self._by_text.get(text or "", ())
        return names[0] if len(names) == 1 else None

    def describe(self, text: str | None) -> str:
        """Return the reason why a text does not identify a question."""
        names = self._by_text.get(text or "", ())
        if not names:
            return f"there is no question with {found(text)}"
        named = ", ".join(repr(name) for name in names[:3])
        return f"the questions {named} have {found(text)}: {NEEDS_ID}"

    @cached_property
    def _by_text(self) -> Mapping[str, list[str]]:
        by_text: dict[str, list[str]] = {}
        for name, text in self._questions.items():
            if text:
                by_text.setdefault(text, []).append(name)
        return by_text


def same_text(read: Read[Any]) -> str:
    """Return the end of a message about a row that its text has identified, else an empty text."""
    return "" if read.is_named else f"; both have {found(read.question_text)}: {NEEDS_ID}"
