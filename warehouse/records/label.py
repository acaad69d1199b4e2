"""A label: what one person says of one sample by one metric."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from warehouse.records.record import Id, Record


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
