"""Which columns of a benchmark's files become which fields and tags."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_COLUMNS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The fields by column for the files of each kind, and the columns that become tags.

    Attributes:
        questions: The field of a question by the name of the column.
        predictions: The same for predictions, and for questions that are read from their files.
        documents: The same for documents.
        tags: The columns of questions that become tags.
    """

    questions: Mapping[str, str] = field(default_factory=dict)
    predictions: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    def question_settings(self, *, from_predictions: bool) -> tuple[str, ...]:
        """Return what questions and documents depend on, for their digest; empty for nothing."""
        names = self.predictions if from_predictions else self.questions
        return _settings(names, self.documents, list(self.tags))

    def prediction_settings(self) -> tuple[str, ...]:
        """Return what predictions depend on, for their digest; empty for nothing."""
        return _settings(self.predictions)


def _settings(*parts: Mapping[str, str] | list[str]) -> tuple[str, ...]:
    if not any(parts):
        return ()
    plain = [part if isinstance(part, list) else dict(part) for part in parts]
    return (json.dumps(plain, sort_keys=True),)
