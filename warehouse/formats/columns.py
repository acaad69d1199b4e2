"""Which columns of a benchmark's files become which fields and tags."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Scaled:
    """A field whose column is in another unit.

    Attributes:
        to: The field.
        scale: What its values are multiplied by, such as 0.001 for milliseconds.
    """

    to: str
    scale: float

    def convert(self, value: object) -> object:
        """Return a number in the unit of the field, and anything else unchanged."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return value
        # As written: 9 * 0.001 is 0.009000000000000001 in floating point.
        return float(Decimal(repr(float(value))) * Decimal(repr(self.scale)))


Target: TypeAlias = str | Scaled
"""The field that a column is read as."""

NO_COLUMNS: Final[Mapping[str, str]] = MappingProxyType({})


def field_of(target: Target) -> str:
    """Return the name of the field."""
    return target if isinstance(target, str) else target.to


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The fields by column for the files of each kind, and the columns that become tags.

    Attributes:
        questions: The field of a question by the name of the column.
        predictions: The same for predictions, and for questions that are read from their files.
        documents: The same for documents.
        tags: The columns of questions that become tags.
    """

    questions: Mapping[str, Target] = field(default_factory=dict)
    predictions: Mapping[str, Target] = field(default_factory=dict)
    documents: Mapping[str, Target] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    def question_settings(self, *, from_predictions: bool) -> tuple[str, ...]:
        """Return what questions and documents depend on, for their digest; empty for nothing."""
        names = self.predictions if from_predictions else self.questions
        return _settings(names, self.documents, list(self.tags))

    def prediction_settings(self) -> tuple[str, ...]:
        """Return what predictions depend on, for their digest; empty for nothing."""
        return _settings(self.predictions)


def _settings(*parts: Mapping[str, Target] | list[str]) -> tuple[str, ...]:
    if not any(parts):
        return ()
    plain = [part if isinstance(part, list) else dict(part) for part in parts]
    return (json.dumps(plain, sort_keys=True, default=asdict),)
