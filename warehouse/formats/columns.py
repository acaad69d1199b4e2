"""Which columns of a benchmark's files become which fields and tags."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from warehouse.errors import InputError, Problem, suggest_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warehouse.formats.query import InputFile


@dataclass(frozen=True, slots=True)
class Conversion:
    """A field whose column needs more than a name.

    Attributes:
        to: The field.
        scale: What its values are multiplied by, such as 0.001 for milliseconds; null: nothing.
        optional: Whether files may lack the column.
        separator: What separates the items of a list that is written as text; null: see the reader.
    """

    to: str
    scale: float | None = None
    optional: bool = False
    separator: str | None = None

    def convert(self, value: object) -> object:
        """Return a number in the unit of the field, and anything else unchanged."""
        if self.scale is None or isinstance(value, bool) or not isinstance(value, Real):
            return value
        # As written: 9 * 0.001 is 0.009000000000000001 in floating point.
        return float(Decimal(repr(float(value))) * Decimal(repr(self.scale)))


Target: TypeAlias = str | Conversion
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
        systems: The same for the predictions of one system; they come before `predictions`.
        documents: The same for documents.
        tags: The columns of questions that become tags.
    """

    questions: Mapping[str, Target] = field(default_factory=dict)
    predictions: Mapping[str, Target] = field(default_factory=dict)
    systems: Mapping[str, Mapping[str, Target]] = field(default_factory=dict)
    documents: Mapping[str, Target] = field(default_factory=dict)
    tags: tuple[str, ...] = ()

    def predictions_of(self, system: str | None) -> Mapping[str, Target]:
        """Return the fields by column for a file of predictions whose path names this system."""
        own = self.systems.get(system or "", NO_COLUMNS)
        fields = {field_of(target) for target in own.values()}
        general = {
            name: target
            for name, target in self.predictions.items()
            if name not in own and field_of(target) not in fields
        }
        return {**general, **own}

    def require_systems(self, predictions: Sequence[tuple[InputFile, str | None]]) -> None:
        """Check that each system of `systems` has a file.

        Raises:
            InputError: No path names one of them; suggests a similar name.
        """
        known = [name for _, name in predictions if name is not None]
        for system in self.systems:
            if system not in known:
                hint = suggest_name(system, known) if known else ", since no path names systems"
                reason = f"`columns` names the system {system!r}, of which there is no file{hint}"
                raise InputError([Problem(str(predictions[0][0]), None, reason)])

    @property
    def has_predictions(self) -> bool:
        """Whether columns of predictions have other names than fields."""
        return bool(self.predictions or self.systems)

    def question_settings(self, *, from_predictions: bool) -> tuple[str, ...]:
        """Return what questions and documents depend on, for their digest; empty for nothing."""
        if from_predictions:
            return _settings(self.predictions, self.documents, list(self.tags), *self._by_system)
        return _settings(self.questions, self.documents, list(self.tags))

    def prediction_settings(self) -> tuple[str, ...]:
        """Return what predictions depend on, for their digest; empty for nothing."""
        return _settings(self.predictions, *self._by_system)

    @property
    def _by_system(self) -> tuple[Mapping[str, Mapping[str, Target]], ...]:
        return (self.systems,) if self.systems else ()


def _settings(*parts: Mapping[str, object] | list[str]) -> tuple[str, ...]:
    if not any(parts):
        return ()
    plain = [part if isinstance(part, list) else dict(part) for part in parts]
    return (json.dumps(plain, sort_keys=True, default=asdict),)
