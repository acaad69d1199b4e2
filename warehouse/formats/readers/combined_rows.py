"""Rows that hold a question and one system's answer to it at once, taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from warehouse.formats.readers.field_mapping import with_own_extra
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question

if TYPE_CHECKING:
    from collections.abc import Mapping

QUESTION: Final = frozenset(Question.model_fields) - {"extra"}
PREDICTION: Final = frozenset(Prediction.model_fields) - {"extra"}
NUMBERED: Final = ("question_id", "id")


def question_side(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a row, in the record's names, that belong to its question."""
    return {name: value for name, value in fields.items() if name in QUESTION}


def prediction_side(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that belong to the prediction: all but those that only a question has.

    The question's text stays, to be compared with that of the question.
    """
    only = QUESTION - PREDICTION - {"question"}
    return with_own_extra({name: value for name, value in fields.items() if name not in only})


def name_of(fields: Mapping[str, Any], position: int) -> object:
    """What a row calls its question, or else its position: q001, q002, ..."""
    given = (fields[name] for name in NUMBERED if fields.get(name) is not None)
    return next(given, f"q{position:03}")
