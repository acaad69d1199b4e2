"""A label: one annotator's value for one sample and metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from warehouse.errors import closest_match
from warehouse.formats.readers.error_messages import RecordError
from warehouse.formats.records.record import Id, Record

if TYPE_CHECKING:
    from collections.abc import Mapping


def _number_of_verdict(value: object) -> object:
    return float(value) if isinstance(value, bool) else value


class Label(Record):
    """One annotator's value for one sample and metric; true and false are 1 and 0.

    Attributes:
        probability: The probability with which the sample was chosen for labelling; None: all
            samples of the system had the same.
        selection: How `scoreline annotate` chose it; with the stratum and its size so that exported
            labels can be imported.
    """

    benchmark: Id
    system: Id
    question_id: Id
    evaluator: Id
    metric: Id
    value: Annotated[float, BeforeValidator(_number_of_verdict), Field(allow_inf_nan=False)]
    annotator: Id = "anonymous"
    probability: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = None
    selection: Literal["random", "uncertain"] | None = None
    stratum: Literal["uncertain", "certain"] | None = None
    stratum_size: Annotated[int, Field(ge=1)] | None = None

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Self:
        """Validate a row; ignore unknown fields, but not misspelt ones.

        Raises:
            RecordError: As `Record.read`; or an unknown field resembles the name of a missing one.
        """
        absent = cls.model_fields.keys() - row.keys()
        for name in row.keys() - cls.model_fields.keys():
            meant = closest_match(name, absent)
            if meant is not None:
                raise RecordError([f"unknown field {name!r}; did you mean {meant!r}?"])
        return super().read(row)
