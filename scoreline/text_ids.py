"""Identifies the questions of frames and lists by their text where rows have no id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.question import Question
from warehouse.formats.columns import field_of
from warehouse.ingest.question_texts import NEEDS_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warehouse.formats.columns import Target

    Row = dict[str, Any]

TEXTS: Final = ("question", "user_input", "query")
"""The names of the text of a question, in rows of answers."""


NEEDED: Final = "a `question_id`, or the text of the `question`, which identifies it"


@dataclass
class TextIds:
    """The ids of questions by text.

    Attributes:
        is_combined: Whether each row holds a question and an answer, so that questions repeat.
        tags: The columns of questions that become tags.
        has_row_ids: Whether rows without an id and a text may be named by their numbers: each row
            is the answer of one system to a question of its own.
    """

    is_combined: bool = False
    tags: tuple[str, ...] = ()
    has_row_ids: bool = False
    _named_rows: int = 0
    _ids: dict[str, str | None] = field(default_factory=dict)
    _first: dict[str, tuple[str, Row]] = field(default_factory=dict)
    _of_rows: list[str] = field(default_factory=list)
    _texts: int = 0
    _answers: int = 0

    def question(self, row: Row, origin: str, at: int) -> Row | None:
        """Return a question with an id; null if it repeats an earlier one.

        Args:
            row: The question under the names of fields, as JSON types.
            origin: The row in messages.
            at: The number of the row.

        Raises:
            RecordError: It differs from an earlier one with the same id or text, or it has neither
                although others have.
        """
        text, name = row.get("question"), row.get("question_id")
        if self.is_combined and name is None and not isinstance(text, str):
            if not self.has_row_ids or self._named_rows != at or text is not None:
                raise RecordError([f"expected {NEEDED}"])
            self._named_rows += 1
            name = f"q{at + 1:03}"
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
        self._of_rows.append(str(name))
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
        if self.is_combined:
            if self._named_rows and "system" in row:
                raise RecordError([f"answers of several systems need {NEEDED}"])
            self._answers += 1
            return {"question_id": self._of_rows[self._answers - 1], **row}
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
    def in_header(header: list[str], columns: Mapping[str, Target]) -> bool:
        """Return whether rows with these columns have the text of the question."""
        return not {field_of(columns.get(name, name)) for name in header}.isdisjoint(TEXTS)
