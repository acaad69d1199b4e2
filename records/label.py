"""A label: one annotator's value for one sample and metric."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from records import fields
from records.record import Id, Record


def _number_of_verdict(value: object) -> object:
    return float(value) if isinstance(value, bool) else value


class Label(Record):
    """One annotator's value for one sample and metric; true and false are 1 and 0."""

    benchmark: Id = fields.identity("The benchmark's name.", ...)
    system: Id = fields.identity("The system under evaluation.", ...)
    question_id: Id = fields.identity("The question's id, unique in its benchmark.", ...)
    evaluator: Id = fields.identity("The evaluator's name.", ...)
    metric: Id = fields.identity("The metric's name, unique in its evaluator.", ...)
    value: Annotated[float, BeforeValidator(_number_of_verdict), Field(allow_inf_nan=False)] = (
        fields.gold("The annotator's value.", ...)
    )
    annotator: Id = fields.identity("Who labelled.", "anonymous")
    probability: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] | None = fields.measured(
        "The probability with which the sample was chosen for labelling; null: all samples of the "
        "system had the same."
    )
    selection: Literal["random", "uncertain"] | None = fields.measured(
        "How `scoreline annotate` chose it; with the stratum and its size so that exported labels "
        "can be imported."
    )
    stratum: Literal["uncertain", "certain"] | None = fields.measured("The stratum of the sample.")
    stratum_size: Annotated[int, Field(ge=1)] | None = fields.measured(
        "The samples in the stratum."
    )
