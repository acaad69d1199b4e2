"""Turns rows of foreign files into records, faults told in the words of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from warehouse.formats.format import Read, Reject
from warehouse.formats.paths import system_conflict
from warehouse.formats.readers.error_messages import RecordError, found
from warehouse.formats.readers.rows import Row
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from warehouse.formats.format import Source

Fields = dict[str, Any]
Translate = Callable[[Row, int], Fields]
"""Gives the fields of a record, from a row and its position from 1.

Fields below `extra` are kept as they are, whatever they are called. Raises RecordError.
"""

N = TypeVar("N", Question, Prediction)


def questions(
    rows: Iterable[Row | Reject], translate: Translate, names: Mapping[str, str]
) -> Iterator[Read[Question] | Reject]:
    """Questions from rows.

    Args:
        rows: The rows.
        translate: Gives a question's fields.
        names: The file's names by those of the record, for messages.
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
    """Predictions from rows; `question` among their fields is the question's text as repeated.

    Args:
        rows: The rows.
        source: Their file.
        translate: Gives a prediction's fields.
        names: The file's names by those of the record, for messages.
    """
    for position, row in enumerate(rows, start=1):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            fields = translate(row, position)
            asked = text(fields.pop("question", None), "question")
            prediction = _record(Prediction, fields)
        except RecordError as error:
            yield Reject(row.line, as_written(error, names), row.text)
            continue
        wrong = system_conflict(prediction.system, source.system)
        if wrong is not None:
            yield Reject(row.line, wrong, row.text)
        else:
            yield Read(prediction, row.line, row.text, asked)


def _record(model: type[N], fields: Fields) -> N:
    kept = fields.pop("extra", None)
    record = model.read(fields)
    if not kept:
        return record
    extra = {**(record.extra or {}), **kept}
    return record.model_copy(update={"extra": dict(sorted(extra.items()))})


def with_own_extra(fields: Fields) -> Fields:
    """Fields of which one that the file itself calls `extra` is kept like any other."""
    return fields | ({"extra": {"extra": fields["extra"]}} if "extra" in fields else {})


def text(value: object, place: str) -> str | None:
    """A field that must be text where it is given.

    Raises:
        RecordError: It is something else.
    """
    if value is None or isinstance(value, str):
        return value
    raise RecordError([f"{place}: expected text, found {found(value)}"])


def as_written(error: RecordError, names: Mapping[str, str]) -> str:
    """A record's faults, with the names that a file has for its fields.

    Args:
        error: What is wrong.
        names: The file's names by those of the record.
    """
    return "; ".join(
        re.sub(r"^\w+", lambda match: names.get(match[0], match[0]), sentence)
        for sentence in error.sentences
    )
