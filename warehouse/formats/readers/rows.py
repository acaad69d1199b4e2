"""Rows of JSON Lines, JSON, CSV, Excel and Parquet files as plain dictionaries."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.errors import InputError, Problem
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.cells.excel import excel_rows
from warehouse.formats.readers.files import COMPRESSED, joined, kind, lines, opened
from warehouse.formats.readers.json_stream import JsonStream
from warehouse.formats.readers.limits import LONGEST_ROW, MAX_FIELDS, too_long, too_many_fields
from warehouse.formats.readers.parquet import parquet_rows
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.formats.readers.tabular import Shape, csv_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from warehouse.formats.readers.field_names import FieldNames
    from warehouse.formats.readers.json_stream import Member


NAMED_BY_FILE: Final = {"doc_id": frozenset({"sentences", "text"})}
"""By key, the members of an object that is a row without the key, in a file of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file: its fields, its line and its text."""

    fields: dict[str, Any]
    line: int | None
    text: str


def rows(
    path: Path,
    *,
    key: str,
    shape: Shape,
    names: FieldNames | None = None,
    may_have_index: bool = False,
) -> Iterator[Row | Reject]:
    """Yield the rows of a file according to its suffix.

    The file is `.jsonl`, `.json`, `.csv`, `.xlsx` or `.parquet`, plain, `.gz` or `.zst`. In a JSON
    object of rows, the keys become the field `key`. The shape says how to parse the cells of CSV
    and Excel files, and `names` gives columns the names of fields. For `may_have_index` see
    `csv_rows`.

    Raises:
        InputError: The file cannot be read, its suffix is unknown, or a column is missing.
    """
    match kind(path):
        case ".jsonl" | ".ndjson":
            return named_rows(json_lines(path), names)
        case ".json":
            return named_rows(json_members(path, key=key), names)
        case ".csv":
            return _with_text(csv_rows(path, shape, names, may_have_index=may_have_index))
        case ".xlsx" | ".xlsm":
            return _with_text(excel_rows(path, shape, names))
        case ".parquet":
            return named_rows(_with_text(parquet_rows(path)), names, has_header=True)
        case other:
            raise InputError(
                [
                    Problem(
                        path,
                        None,
                        f"unknown file suffix {other!r}; expected .jsonl, .json, .csv, "
                        ".xlsx or .parquet, each also with .gz or .zst",
                    )
                ]
            )


def named_rows(
    given: Iterable[Row | Reject], names: FieldNames | None, *, has_header: bool = False
) -> Iterator[Row | Reject]:
    """Yield rows under the names of fields; `has_header`: all have the same columns.

    Raises:
        InputError: The file lacks a column.
    """
    if names is None:
        yield from given
        return
    for each in given:
        if isinstance(each, Reject):
            yield each
            continue
        if has_header:
            names.check_header(list(each.fields), None)
            has_header = False
        try:
            yield Row(names.rename(each.fields), each.line, each.text)
        except RecordError as error:
            yield Reject(each.line, str(error), each.text)
    names.require_columns()


def json_lines(path: Path) -> Iterator[Row | Reject]:
    """Yield the rows of a file with one JSON object on each line.

    Raises:
        InputError: The file starts with a JSON list over several lines.
    """
    for position, line in enumerate(lines(path)):
        if isinstance(line, Reject):
            yield line
            continue
        try:
            value = decode(line.text)
        except NotJsonError as error:
            if position == 0 and line.text.lstrip().startswith("["):
                message = "expected a JSON object on each line, found the beginning of a list: "
                message += "rename a file with one list to .json"
                raise InputError([Problem(path, line.number, message)]) from None
            reason = f"not JSON at column {error.position + 1}: {error}"
            if line.text.startswith("\ufeff"):
                reason = joined(path)
            yield Reject(line.number, reason, line.beginning)
            continue
        if isinstance(value, dict):
            yield _row(value, line.number, line.beginning)
        else:
            reason = f"expected a JSON object, found {found(value)}"
            yield Reject(line.number, reason, line.beginning)


def _row(fields: dict[str, Any], line: int, text: str) -> Row | Reject:
    reason = too_many_fields(len(fields))
    return Row(fields, line, text) if reason is None else Reject(line, reason, text)


def json_members(path: Path, *, key: str) -> Iterator[Row | Reject]:
    """Yield the rows of a JSON file: a list of objects, an object of objects, or one object.

    In an object of objects, the keys become the field `key` of the rows. An object that has this
    field itself is a single row. So is one with the sentences or the text of a document, which is
    called after its file.

    Raises:
        InputError: The file is not such JSON; names the line.
    """
    stream = JsonStream(path)
    fields: dict[str, Any] = {}
    rows_so_far: list[Row | Reject] = []
    length = 0
    is_single = False
    for position, member in enumerate(stream):
        name, row = member.name, _member_row(member, position, key)
        if position == 0 and name is not None:
            # The first member of a document may be an object, such as its metadata.
            is_single = not isinstance(member.value, dict) or name == key or key in NAMED_BY_FILE
        if not is_single or name is None:
            yield row
            continue
        if name in fields:
            reason = f"not JSON: the key {name!r} occurs twice in one object"
            raise InputError([Problem(path, member.line, reason)])
        fields[name] = member.value
        rows_so_far.append(row)
        length += member.length
        if len(fields) > MAX_FIELDS or length > LONGEST_ROW:
            if key in fields:
                reason = too_many_fields(len(fields)) or too_long("the row")
                raise InputError([Problem(path, member.line, reason)])
            # Not one row, but rows by key, the first of which is not valid.
            is_single = False
            yield from rows_so_far
    content = [fields[name] for name in NAMED_BY_FILE.get(key, ()) if name in fields]
    has_content = not all(isinstance(each, dict) for each in content)
    if is_single and has_content and fields.get(key) is None:
        fields[key] = file_stem(path)
    if is_single and key in fields:
        yield Row(fields, 1, stream.beginning)
    elif is_single:
        yield from rows_so_far


def file_stem(path: Path) -> str:
    """Return the name of a file without its suffixes of type and compression."""
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSED else path.stem


def named_by_file(given: Iterable[Row | Reject], path: Path, key: str) -> Iterator[Row | Reject]:
    """Yield rows; the only row of a file is called after it if it has no name.

    So is an object with its content, see `json_members`.
    """
    first: Row | Reject | None = None
    is_only = True
    for each in given:
        if first is not None:
            is_only = False
            yield first
        first = each
    if isinstance(first, Row) and is_only and first.fields.get(key) is None:
        first = Row({**first.fields, key: file_stem(path)}, first.line, first.text)
    if first is not None:
        yield first


def _member_row(member: Member, position: int, key: str) -> Row | Reject:
    name, value, line, text = member.name, member.value, member.line, member.text
    location = f"element {position + 1}" if name is None else repr(name)
    if not isinstance(value, dict):
        return Reject(line, f"{location}: expected a JSON object, found {found(value)}", text)
    if name is None:
        return _row(value, line, text)
    own = value.get(key)
    if own is not None and str(own) != name:
        return Reject(line, f"{location}: {key} is {own!r}, which contradicts the key", text)
    return _row({**value, key: name}, line, text)


def _with_text(
    given: Iterator[tuple[dict[str, Any], int] | Reject],
) -> Iterator[Row | Reject]:
    for each in given:
        if isinstance(each, Reject):
            yield each
        else:
            fields, line = each
            yield Row(fields, line, str(fields)[:SHOWN])


_WHITESPACE = b" \t\r\n\xef\xbb\xbf"


def json_rows(path: Path, *, key: str) -> Iterator[Row | Reject]:
    """Yield the objects of a JSON list or of JSON Lines, according to the first character.

    Raises:
        InputError: The file cannot be read, or is an incomplete list.
    """
    with opened(path) as file:
        beginning = file.read(4096).lstrip(_WHITESPACE)
    if beginning.startswith(b"["):
        return json_members(path, key=key)
    return json_lines(path)
