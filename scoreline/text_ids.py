"""Identifies the questions of frames and lists by their text where rows have no id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.question import Question
from warehouse.ingest.question_texts import NEEDS_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    Row = dict[str, Any]

TEXTS: Final = ("question", "user_input", "query")
"""The names of the text of a question, in rows of answers."""


@dataclass
class TextIds:
    """The ids of questions by text.

    Attributes:
        is_combined: Whether each row holds a question and an answer, so that questions repeat.
        tags: The columns of questions that become tags.
    """

    is_combined: bool = False
    tags: tuple[str, ...] = ()
    _ids: dict[str, str | None] = field(default_factory=dict)
    _first: dict[str, tuple[str, Row]] = field(default_factory=dict)
    _texts: int = 0

    def question(self, row: Row, origin: str) -> Row | None:
        """Return a question with an id; null if it repeats an earlier one.

        Args:
            row: The question under the names of fields, as JSON types.
            origin: The row in messages.

        Raises:
            RecordError: It differs from an earlier one with the same id or text.
        """
        text, name = row.get("question"), row.get("question_id")
        is_nameless = name is None and isinstance(text, str)
        if is_nameless:
            name = self._ids.get(str(text)) or f"q{self._texts + 1:03}"
            self._texts += text not in self._ids
        if isinstance(text, str) and name is not None:
            known = self._ids.setdefault(text, str(name))
            if known != str(name):
                self._ids[text] = None
        if not (is_nameless or self.is_combined):
            return row
        fields = {each: value for each, value in row.items() if each in Question.model_fields}
        fields |= {each: row[each] for each in self.tags if each in row}
        fields["question_id"] = name
        where, first = self._first.setdefault(str(name), (origin, fields))
        if where == origin:
            return fields if self.is_combined else {**row, "question_id": name}
        differing = [each for each in fields | first if fields.get(each) != first.get(each)]
        if differing:
            raise RecordError(
                [f"the question differs from {where} in {', '.join(differing)}: {NEEDS_ID}"]
            )
        return None

    def answer(self, row: Row) -> Row:
        """Return an answer with the id of its question.

        Raises:
            RecordError: No question has its text, or several have.
        """
        text = next((row[name] for name in TEXTS if name in row), None)
        if row.get("question_id") is not None or not isinstance(text, str) or not self._ids:
            return row
        if text not in self._ids:
            raise RecordError([f"there is no question with {found(text)}"])
        name = self._ids[text]
        if name is None:
            raise RecordError([f"several questions have {found(text)}: {NEEDS_ID}"])
        return {**row, "question_id": name}

    @staticmethod
    def in_header(header: list[str], columns: Mapping[str, str]) -> bool:
        """Return whether rows with these columns have the text of the question."""
        return not {columns.get(name, name) for name in header}.isdisjoint(TEXTS)
