"""What all records share: they are strict, and say in plain sentences what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from warehouse.formats.readers.error_messages import RecordError, sentences

if TYPE_CHECKING:
    from collections.abc import Mapping


def _text_of_integer(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value


Name = Annotated[str, BeforeValidator(_text_of_integer)]
"""Text that files often write as a whole number, such as a label."""

Id = Annotated[str, BeforeValidator(_text_of_integer), Field(min_length=1)]
"""An id: text that is not empty; whole numbers become text."""

Finite = Annotated[float, Field(allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
LogProbability = Annotated[float, Field(le=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
"""A whole number that fits the warehouse's INTEGER."""


class Record(BaseModel):
    """A strict record: nothing is converted but whole numbers where text is meant."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """Checks a row of a file.

        Args:
            row: The row's fields. A null field counts as absent.

        Returns:
            The record. Where the model has `extra`, it holds the fields that no name is for,
            sorted by name.

        Raises:
            RecordError: The row is not such a record; says every fault in plain sentences.
        """
        fields = {key: value for key, value in row.items() if value is not None}
        if "extra" in cls.model_fields:
            names = cls.model_fields.keys() - {"extra"}
            extra = {key: fields[key] for key in sorted(fields) if key not in names}
            fields = {key: value for key, value in fields.items() if key in names}
            fields["extra"] = extra or None
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise RecordError(sentences(error)) from None
