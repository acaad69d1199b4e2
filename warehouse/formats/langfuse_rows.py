"""The rows of Langfuse's files, under one set of names and with their texts decoded once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from warehouse.formats.format import Reject
from warehouse.formats.readers.conversations import parsed
from warehouse.formats.readers.exports import element_row, first_character
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.rows import Row, rows
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SIDES: Final = ("input", "output")
DECODED: Final = frozenset({"html_path", "usage"})
"""The fields that rows have only where the API has decoded inputs and outputs."""

CAPITAL: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")


def langfuse_rows(path: Path) -> tuple[Iterator[Row | Reject], bool | None]:
    """Return the rows of a file, and whether their texts are JSON that is still to be decoded.

    They are in CSV files and in pages of `/api/public/v2/observations`, and are not in pages of
    other interfaces. Null: the rows themselves show it; see `decode_rows`.
    """
    if kind(path) == ".json" and first_character(path) == "{":
        file = NestedJson(path)
        meta = file.root.value.get("meta")
        is_page = isinstance(meta, dict) and isinstance(file.root.value.get("data"), list)
        return map(_renamed, _nested(file)), "page" not in meta if is_page else None
    given = rows(path, key="id", shape=Shape())
    return map(_renamed, given), True if kind(path) == ".csv" else None


def decode_rows(given: Sequence[Row], *, is_raw: bool | None) -> None:
    """Decode inputs and outputs that are JSON in texts once; other texts are what they say.

    Where it is not known whether they are JSON, they are if none is anything else than a text, and
    if the rows are not those of the first version of the API; see `DECODED`.
    """
    if is_raw is None:
        sides = [row.fields.get(side) for row in given for side in SIDES]
        is_raw = all(side is None or isinstance(side, str) for side in sides) and all(
            DECODED.isdisjoint(row.fields) for row in given
        )
    for row in given if is_raw else ():
        for side in SIDES:
            row.fields[side] = _decoded(row.fields.get(side))


def observations_of(row: Row) -> list[Row]:
    """Return the observations in a trace; lists of traces have only their ids."""
    given = parsed(row.fields.get("observations"))
    objects = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    return [_with_names(Row(each, row.line, row.text)) for each in objects]


def _decoded(value: object) -> Any:
    if not isinstance(value, str):
        return value
    try:
        found = decode(value)
    except NotJsonError:
        return value
    # A number stays as it was written: 1.50 is a text like any other.
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return value if is_number or isinstance(found, bool) else found


def _nested(file: NestedJson) -> Iterator[Row | Reject]:
    """Yield the traces of a page of the API, or a trace that was downloaded by itself."""
    listed = file.member(file.root, "data")
    trace = file.member(file.root, "trace")
    if listed is not None and isinstance(listed.value, list):
        for element in file.elements(listed):
            yield element_row(file, element, "data")
    elif trace is not None and isinstance(trace.value, dict):
        row = element_row(file, trace, "trace")
        with_all = {**file.root.value, **trace.value}
        with_all.pop("trace")
        yield row if isinstance(row, Reject) else Row(with_all, row.line, row.text)
    else:
        yield Row(file.root.value, file.line(file.root.begin), file.shown(file.root))


def _renamed(row: Row | Reject) -> Row | Reject:
    return row if isinstance(row, Reject) else _with_names(row)


def _with_names(row: Row) -> Row:
    """Return a row with names such as `trace_id`: the API writes `traceId`."""
    fields = {_name(name, value): value for name, value in row.fields.items()}
    return Row(fields, row.line, row.text)


def _name(name: str, value: object) -> str:
    # Exported tables have a column for each score, called after it.
    return name if is_score_column(value) else CAPITAL.sub(r"_\1", name).lower()


def is_score_column(value: object) -> bool:
    """Return whether a value is what exported tables have in the columns of scores: numbers."""
    numbers = value if isinstance(value, list) else []
    return bool(numbers) and all(
        isinstance(each, int | float) and not isinstance(each, bool) for each in numbers
    )
