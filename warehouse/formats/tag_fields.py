"""Fields of questions that become tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from records.error_messages import RecordError
from records.question import invalid_tag_reason
from warehouse.errors import InputError, Problem, suggest_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from records.question import Question
    from warehouse.formats.format import Source


class TagFields:
    """Turns unknown fields of questions into tags."""

    def __init__(self, names: Sequence[str]) -> None:
        """Take the names of the fields."""
        self._missing = dict.fromkeys(names)
        self._names = tuple(names)
        self._others: dict[str, None] = {}

    def tag(self, question: Question) -> Question:
        """Return a question with the tags that its fields give.

        Raises:
            RecordError: A value cannot be that of a tag.
        """
        if not self._names:
            return question
        extra = dict(question.extra or {})
        given = {name: extra.pop(name) for name in self._names if name in extra}
        for name, value in given.items():
            self._missing.pop(name, None)
            reason = invalid_tag_reason(name, value)
            if reason is not None:
                raise RecordError([reason])
        self._others |= dict.fromkeys(extra)
        if not given:
            return question
        tags = {**(question.tags or {}), **given}
        return question.model_copy(update={"tags": tags, "extra": extra or None})

    def require_all(self, sources: Sequence[Source]) -> None:
        """Check, after the last question, that each name occurred.

        Raises:
            InputError: No question has a value for one of them; suggests a similar name.
        """
        for name in self._missing:
            reason = f"no row has a value for {name!r}, which `tags` names"
            if self._others:
                reason += suggest_name(name, self._others)
            raise InputError([Problem(sources[-1].path, None, reason)])
