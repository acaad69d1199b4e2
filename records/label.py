"""A label: one annotator's value for one sample and metric."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from records.record import Id, Record


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
