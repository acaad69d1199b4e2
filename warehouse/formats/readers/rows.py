"""Rows of JSON Lines, JSON, CSV and Parquet files as plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.error_messages import found
from warehouse.formats.readers.files import kind, lines, opened, whole
from warehouse.formats.readers.strict_json import NotJsonError, decode, members
from warehouse.formats.readers.tabular import Shape, csv_rows, parquet_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file: its fields, and where it stands."""

    fields: dict[str, Any]
    line: int | None
    text: str


def rows(path: Path, *, key: str, shape: Shape) -> Iterator[Row | Reject]:
    """The rows of a file in the form that its ending says.

    Args:
        path: A `.jsonl`, `.json`, `.csv` or `.parquet` file, plain, `.gz` or `.zst`.
        key: The field that names a row: in a JSON object of rows, the keys stand for it.
        shape: How the cells of a CSV file are to be read.

    Raises:
        InputError: The file cannot be read, or its ending is not known.
    """
    match kind(path):
        case ".jsonl" | ".ndjson":
            return json_lines(path)
        case ".json":
            return json_members(path, key=key)
        case ".csv":
            return _placed(csv_rows(path, shape))
        case ".parquet":
            return _placed(parquet_rows(path))
        case other:
            raise InputError(
                [
                    Problem(
                        path,
                        None,
                        f"the ending {other!r} is not known; expected .jsonl, .json, .csv or "
                        ".parquet, each also with .gz or .zst",
                    )
                ]
            )


def json_lines(path: Path) -> Iterator[Row | Reject]:
    """The rows of a file with one JSON object a line.

    Raises:
        InputError: The file begins as a JSON list over many lines does.
    """
    for at, line in enumerate(lines(path)):
        if isinstance(line, Reject):
            yield line
            continue
        try:
            value = decode(line.text)
        except NotJsonError as error:
            if at == 0 and line.text.lstrip().startswith("["):
                told = "expected a JSON object on each line, found the beginning of a list: "
                told += "a file that is one list must be called .json"
                raise InputError([Problem(path, line.number, told)]) from None
            place = f"column {error.position + 1}"
            yield Reject(line.number, f"not JSON at {place}: {error}", line.beginning)
            continue
        if isinstance(value, dict):
            yield Row(value, line.number, line.beginning)
        else:
            reason = f"expected a JSON object, found {found(value)}"
            yield Reject(line.number, reason, line.beginning)


def json_members(path: Path, *, key: str) -> Iterator[Row | Reject]:
    """The rows of a JSON file: a list of objects, an object of them, or a single one.

    Args:
        path: The file.
        key: The field that names a row. In an object of rows, each key stands for it; an object
            that has this field itself is a single row.

    Raises:
        InputError: The file is not such JSON; names the line.
    """
    text = whole(path)
    if not text.strip():
        return
    line, reached = 1, 0
    fields: dict[str, Any] = {}
    held: list[Row | Reject] = []
    alone = False
    try:
        for position, (name, value, begin) in enumerate(members(text)):
            line += text.count("\n", reached, begin)
            reached = begin
            if position == 0 and name is not None:
                alone = not isinstance(value, dict) or name == key
            if alone and name is not None:
                _keep(fields, name, value, begin)
                held.append(_member(name, value, position, line, text[begin : begin + SHOWN], key))
                continue
            yield _member(name, value, position, line, text[begin : begin + SHOWN], key)
    except NotJsonError as error:
        where = text.count("\n", 0, error.position) + 1
        raise InputError([Problem(path, where, f"not JSON: {error}")]) from None
    if key in fields:
        yield Row(fields, 1, text[:SHOWN])
    else:
        yield from held


def _keep(fields: dict[str, Any], name: str, value: object, begin: int) -> None:
    if name in fields:
        raise NotJsonError(f"the key {name!r} occurs twice in one object", begin)
    fields[name] = value


def _member(
    name: str | None, value: object, position: int, line: int, text: str, key: str
) -> Row | Reject:
    place = f"element {position + 1}" if name is None else repr(name)
    if not isinstance(value, dict):
        return Reject(line, f"{place}: expected a JSON object, found {found(value)}", text)
    if name is None:
        return Row(value, line, text)
    own = value.get(key)
    if own is not None and str(own) != name:
        return Reject(line, f"{place}: {key} is {own!r}, which contradicts the key", text)
    return Row({**value, key: name}, line, text)


def _placed(
    given: Iterator[tuple[dict[str, Any], int] | Reject],
) -> Iterator[Row | Reject]:
    for each in given:
        if isinstance(each, Reject):
            yield each
        else:
            fields, line = each
            yield Row(fields, line, str(fields)[:SHOWN])


_BLANK = b" \t\r\n\xef\xbb\xbf"


def json_rows(path: Path, *, key: str) -> Iterator[Row | Reject]:
    """The objects of a JSON list or of JSON Lines, whichever it is by its first character.

    Args:
        path: The file.
        key: The field that names a row.

    Raises:
        InputError: The file cannot be read, or is a list that breaks off.
    """
    with opened(path) as file:
        beginning = file.read(4096).lstrip(_BLANK)
    if beginning.startswith(b"["):
        return json_members(path, key=key)
    return json_lines(path)
