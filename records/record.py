"""The base class of records: strict validation with readable error messages."""

from __future__ import annotations

import math
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Self, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from records.error_messages import RecordError, describe_field, found, sentences
from records.fields import Declared
from records.shapes import shape_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from records.fields import Role


ROUNDING = 1e-3
"""How far a probability may exceed 1, and its logarithm 0: models compute with few digits. Metrics
read such a probability as 1."""

LARGEST_EXACT = 2.0**53
"""Beyond it, not every whole number is a float."""


def integer(value: object) -> object:
    """Return 4 for 4.0 and other values unchanged.

    JSON Schema calls 4.0 an integer, and data frames write it for columns with missing values.
    """
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT
    return int(value) if is_whole else value  # type: ignore[call-overload]


def text_of_integer(value: object) -> object:
    """Return "4" for 4 and 4.0, and other values unchanged."""
    value = integer(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


SPACES = " \t\r\n"
"""The characters that are nothing if a text has no others, for Python and DuckDB."""


Name = Annotated[str, BeforeValidator(text_of_integer)]
"""Text that files often write as a whole number, such as a label."""

CONTROL = r"[\x00-\x1f\x7f-\x9f" "\u2028\u2029]"
"""A pattern, for Python and pydantic, of control characters and line separators. Ids and names
contain none: they become labels of charts, lines of terminals and names of files."""

PRINTABLE_PATTERN = f"^[^{CONTROL[1:]}*$"
"""A pattern of texts without control characters."""

_PRINTABLE = Field(pattern=PRINTABLE_PATTERN)

Id = Annotated[str, BeforeValidator(text_of_integer), Field(min_length=1), _PRINTABLE]
"""An id: text that is not empty, without control characters; whole numbers become text."""

SliceName = Annotated[str, BeforeValidator(text_of_integer), _PRINTABLE]
"""Text without control characters that defines slices; whole numbers become text."""

Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

Probability = Annotated[float, Field(ge=0, le=1 + ROUNDING, allow_inf_nan=False)]
LogProbability = Annotated[float, Field(le=ROUNDING, allow_inf_nan=False)]

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Integer = Annotated[int, BeforeValidator(integer)]
"""A whole number, also one that is written as 4.0."""

Whole = Annotated[Integer, Field(ge=-(2**31), le=2**31 - 1)]
"""A whole number that fits the warehouse's INTEGER."""


def list_of_text(value: object) -> object:
    """Return a text as a list, and a list unchanged."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, list):
        raise ValueError(f"expected text or a list of texts, found {found(value)}")  # noqa: TRY004
    return value


Texts = Annotated[list[str], BeforeValidator(list_of_text, json_schema_input_type=str | list[str])]
"""A text, or a list of alternatives."""


class Record(BaseModel):
    """A strict record: only whole numbers are converted, and only to text."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    @classmethod
    @cache
    def annotations(cls) -> Mapping[str, Any]:
        """Return the annotation of each input field, without `None`."""
        hints = get_type_hints(cls, include_extras=True)
        return {
            name: get_args(hints[name])[0] if NoneType in get_args(hints[name]) else hints[name]
            for name in cls.model_fields
            if name != "extra"
        }

    @classmethod
    @cache
    def declared(cls) -> Mapping[str, Declared]:
        """Return the declaration of each field."""
        hints = {"extra": dict[str, Any], **cls.annotations()}
        return {
            name: Declared.of(name, info, hints[name]) for name, info in cls.model_fields.items()
        }

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """Validate the fields of a row; a null field counts as absent.

        Returns:
            The record. If the model has `extra`, it holds the unknown fields, sorted by name.

        Raises:
            RecordError: The row is not valid; lists every problem.
        """
        fields = {key: value for key, value in row.items() if value is not None}
        if "extra" in cls.model_fields:
            names = cls.model_fields.keys() - {"extra"}
            extra = {key: fields[key] for key in sorted(fields) if key not in names}
            fields = {key: value for key, value in fields.items() if key in names}
            fields["extra"] = extra or None
        try:
            record = cls.model_validate(fields)
        except ValidationError as error:
            raise RecordError(sentences(error)) from None
        for name in cls._json_fields() & fields.keys():
            for path, value in _numbers_not_finite(fields[name], (name,)):
                raise RecordError(
                    [describe_field(path, f"expected a finite number, found {found(value)}")]
                )
        return record

    @classmethod
    @cache
    def _json_fields(cls) -> frozenset[str]:
        """Return the known fields that are stored as JSON."""
        return frozenset(
            name
            for name, each in cls.declared().items()
            if name != "extra" and (each.stored or shape_of(each.annotation)) == "JSON"
        )


def _numbers_not_finite(
    value: object, path: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], float]]:
    """Yield the numbers in a value that JSON cannot hold, with their paths."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield path, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _numbers_not_finite(each, (*path, str(name)))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _numbers_not_finite(each, (*path, place))


def fields_of(record: type[Record], *roles: Role) -> tuple[str, ...]:
    """Return the names of the fields with one of some roles, in their order."""
    return tuple(name for name, each in record.declared().items() if each.role in roles)
