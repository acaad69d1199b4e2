"""A label: what one person says of one sample by one metric."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, Field

from warehouse.formats.readers.error_messages import RecordError
from warehouse.formats.records.record import Id, Record

if TYPE_CHECKING:
    from collections.abc import Mapping


def _number_of_verdict(value: object) -> object:
    return float(value) if isinstance(value, bool) else value


class Label(Record):
    """One person's number for one sample and metric; true and false are 1 and 0."""

    benchmark: Id
    system: Id
    question_id: Id
    evaluator: Id
    metric: Id
    value: Annotated[float, BeforeValidator(_number_of_verdict), Field(allow_inf_nan=False)]
    annotator: Id = "anonymous"

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """Checks a row; fields that no name is for are passed over, misspelt ones are not.

        Raises:
            RecordError: As `Record.read`; or a field bears almost the name of one that is absent,
                which would otherwise go unnoticed where that one may be left out.
        """
        absent = cls.model_fields.keys() - row.keys()
        for name in row.keys() - cls.model_fields.keys():
            meant = difflib.get_close_matches(name, absent, n=1)
            if meant:
                raise RecordError([f"unknown field {name!r}; did you mean {meant[0]!r}?"])
        return super().read(row)
