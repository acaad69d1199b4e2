"""Maps rows of other formats to records, with error messages in the names of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from records.error_messages import RecordError, found
from records.prediction import Prediction
from records.question import Question
from records.record import Record
from warehouse.formats.format import Read, Reject
from warehouse.formats.paths import system_conflict
from warehouse.formats.readers.rows import Row

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

R = TypeVar("R", bound=Record)
N = TypeVar("N", Question, Prediction)

NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})


def records(
    rows: Iterable[Row | Reject],
    read: Callable[[Row, int], Read[R]],
    names: Mapping[str, str] = NO_NAMES,
) -> Iterator[Read[R] | Reject]:
    """Yield the record of each row, or the reason why the row is not valid.

    Args:
        rows: The rows.
        read: Returns the record of a row and its position from 1; raises RecordError.
        names: The file's field names by those of the record, for messages.
    """
    for position, row in enumerate(rows, start=1):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            yield read(row, position)
        except RecordError as error:
            yield Reject(row.line, as_written(error, names), row.text)


def questions(
    rows: Iterable[Row | Reject],
    translate: Translate,
    names: Mapping[str, str],
    *,
    by_text: bool = False,
) -> Iterator[Read[Question] | Reject]:
    """Yield questions from rows; see `records`.

    With `by_text`, the text identifies a question in a row without `question_id` and `id`.
    """

    def read(row: Row, position: int) -> Read[Question]:
        question = _record(Question, translate(row, position))
        is_named = not by_text or _has_id(row)
        question_text = question.question if by_text else None
        return Read(question, row.line, row.text, question_text, is_named)

    return records(rows, read, names)


def predictions(
    rows: Iterable[Row | Reject],
    source: Source,
    translate: Translate,
    names: Mapping[str, str],
    *,
    by_text: bool = False,
) -> Iterator[Read[Prediction] | Reject]:
    """Yield predictions from rows; see `questions`.

    A field `question` is the text of the question in the file.
    """

    def read(row: Row, position: int) -> Read[Prediction]:
        fields = translate(row, position)
        question_text = text(fields.pop("question", None), "question")
        prediction = _record(Prediction, fields)
        require_same_system(prediction, source)
        is_named = not by_text or _has_id(row)
        return Read(prediction, row.line, row.text, question_text, is_named)

    return records(rows, read, names)


def _has_id(row: Row) -> bool:
    return any(row.fields.get(name) is not None for name in NUMBERED)


def require_same_system(prediction: Prediction, source: Source) -> None:
    """Check that a row or the path of its file names the system, and that they do not differ.

    Raises:
        RecordError: None or both name it, or the name is not valid.
    """
    conflict = system_conflict(prediction.system, source.system)
    if conflict is not None:
        raise RecordError([conflict])


def _record(model: type[N], fields: Fields) -> N:
    kept = fields.pop("extra", None)
    record = model.read(fields)
    if not kept:
        return record
    extra = {**(record.extra or {}), **kept}
    return record.model_copy(update={"extra": dict(sorted(extra.items()))})


def rename(fields: Fields, names: Mapping[str, str]) -> None:
    """Give fields the names of the record; `names` has those of the file by those of the record."""
    for name, written in names.items():
        if written in fields:
            fields[name] = fields.pop(written)


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
    """Return the message of an error with the field names of the file."""
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
