"""Maps rows of other formats to records, with error messages in the names of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from warehouse.formats.format import Read, Reject
from warehouse.formats.paths import system_conflict
from warehouse.formats.readers.error_messages import RecordError, found
from warehouse.formats.readers.rows import Row
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from warehouse.formats.format import Source

QUESTION: Final = frozenset(Question.model_fields) - {"extra"}
PREDICTION: Final = frozenset(Prediction.model_fields) - {"extra"}
NUMBERED: Final = ("question_id", "id")

Fields = dict[str, Any]
Translate = Callable[[Row, int], Fields]
"""Returns the fields of a record for a row and its position from 1; raises RecordError.

The members of `extra` are kept unchanged.
"""

N = TypeVar("N", Question, Prediction)


def questions(
    rows: Iterable[Row | Reject], translate: Translate, names: Mapping[str, str]
) -> Iterator[Read[Question] | Reject]:
    """Yield questions from rows.

    Args:
        rows: The rows.
        translate: Returns the fields of a question.
        names: The file's field names by those of the record, for messages.
    """
    for position, row in enumerate(rows, start=1):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            yield Read(_record(Question, translate(row, position)), row.line, row.text)
        except RecordError as error:
            yield Reject(row.line, as_written(error, names), row.text)


def predictions(
    rows: Iterable[Row | Reject], source: Source, translate: Translate, names: Mapping[str, str]
) -> Iterator[Read[Prediction] | Reject]:
    """Yield predictions from rows; a field `question` is the text of the question in the file.

    Args:
        rows: The rows.
        source: The file.
        translate: Returns the fields of a prediction.
        names: The file's field names by those of the record, for messages.
    """
    for position, row in enumerate(rows, start=1):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            fields = translate(row, position)
            question_text = text(fields.pop("question", None), "question")
            prediction = _record(Prediction, fields)
        except RecordError as error:
            yield Reject(row.line, as_written(error, names), row.text)
            continue
        conflict = system_conflict(prediction.system, source.system)
        if conflict is not None:
            yield Reject(row.line, conflict, row.text)
        else:
            yield Read(prediction, row.line, row.text, question_text)


def _record(model: type[N], fields: Fields) -> N:
    kept = fields.pop("extra", None)
    record = model.read(fields)
    if not kept:
        return record
    extra = {**(record.extra or {}), **kept}
    return record.model_copy(update={"extra": dict(sorted(extra.items()))})


def with_own_extra(fields: Fields) -> Fields:
    """Keep a field that the file itself calls `extra` like any other unknown field."""
    return fields | ({"extra": {"extra": fields["extra"]}} if "extra" in fields else {})


def text(value: object, field: str) -> str | None:
    """Return an optional text field.

    Raises:
        RecordError: The value is not text.
    """
    if value is None or isinstance(value, str):
        return value
    raise RecordError([f"{field}: expected text, found {found(value)}"])


def as_written(error: RecordError, names: Mapping[str, str]) -> str:
    """Return the message of an error with the field names of the file.

    Args:
        error: The error.
        names: The file's field names by those of the record.
    """
    return "; ".join(
        re.sub(r"^\w+", lambda match: names.get(match[0], match[0]), sentence)
        for sentence in error.sentences
    )


def question_side(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a combined row that belong to its question."""
    return {name: value for name, value in fields.items() if name in QUESTION}


def prediction_side(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a combined row that do not belong to the question only.

    The text of the question stays, to be compared with that of the question.
    """
    only = QUESTION - PREDICTION - {"question"}
    return with_own_extra({name: value for name, value in fields.items() if name not in only})


def name_of(fields: Mapping[str, Any], position: int) -> object:
    """Return the question id of a row, or else one from its position: q001, q002, ..."""
    given = (fields[name] for name in NUMBERED if fields.get(name) is not None)
    return next(given, f"q{position:03}")
