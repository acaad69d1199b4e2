"""What exports of evaluation and tracing tools have in common: ids, tags, scores, file kinds."""

from __future__ import annotations

import json
import math
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, TypeVar

from records.error_messages import SHOWN, RecordError, found
from records.prediction import MAX_REPEAT
from records.record import CONTROL, integer
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Reject
from warehouse.formats.readers.files import opened
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from warehouse.formats.readers.nested_json import Element, NestedJson

LONGEST_TAG: Final = 100
"""The number of characters up to which a text of the metadata becomes a tag."""

LONGEST_WAIT: Final = 1e12
"""Milliseconds, some 30 years: a larger number is not a latency."""

_LISTED: Final = 6
_NUMBER: Final = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,3})?")
_ID_DIGITS: Final = 12

T = TypeVar("T")


def id_of_text(text: str) -> str:
    """Return the id of a question without one: the same for the same text in all files."""
    return f"q-{sha256(text.encode()).hexdigest()[:_ID_DIGITS]}"


def tags_of(metadata: object) -> dict[str, Any]:
    """Return the members of a metadata object that can be tags: numbers and short texts."""
    if not isinstance(metadata, dict):
        return {}
    tags: dict[str, Any] = {}
    for name, value in metadata.items():
        if isinstance(value, bool):
            tags[name] = str(value).lower()
        elif isinstance(value, int | float) or _is_short(value):
            tags[name] = value
    return {name: value for name, value in tags.items() if _is_short(name)}


def _is_short(value: object) -> bool:
    is_text = isinstance(value, str) and 0 < len(value) <= LONGEST_TAG
    return is_text and re.search(CONTROL, str(value)) is None


def reported_of(scores: Iterable[tuple[object, object]]) -> dict[str, bool | float] | None:
    """Return what another tool scored, by name; null if there is nothing.

    Several scores of one name are averaged. Left out are values that are not numbers, true or
    false, also as a cell of CSV writes them: a class is not a number.
    """
    given: dict[str, list[bool | float]] = {}
    for name, value in scores:
        number = _score(value)
        if number is not None and name not in (None, ""):
            given.setdefault(str(name), []).append(number)
    return {name: _mean(numbers) for name, numbers in given.items()} or None


def _mean(numbers: list[bool | float]) -> bool | float:
    if len(set(numbers)) == 1:
        return numbers[0]
    try:
        return math.fsum(numbers) / len(numbers)
    except OverflowError:  # the sum is larger than any float
        return math.fsum(each / len(numbers) for each in numbers)


def is_missing(value: object) -> bool:
    """Return whether a value is null, which pandas also writes as NaN."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _score(value: object) -> bool | float | None:
    if isinstance(value, str):
        if value.lower() in {"true", "false"}:
            return value.lower() == "true"
        try:
            value = float(value) if _NUMBER.fullmatch(value) else None
        except ValueError:
            return None
    if isinstance(value, bool):
        return value
    if not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number that is larger than any float
        return None


def repeat_of(metadata: Mapping[str, Any]) -> int:
    """Return the number of an answer that the member `repeat` of metadata gives; else 0."""
    given: Any = integer(metadata.get("repeat"))
    # Langfuse knows only texts as metadata that all observations of a trace share.
    if isinstance(given, str) and given.isdecimal() and len(given) < 4:  # noqa: PLR2004
        given = int(given)
    is_number = isinstance(given, int) and not isinstance(given, bool)
    return given if is_number and 0 <= given <= MAX_REPEAT else 0


def seconds_of(milliseconds: Any, name: str) -> float | None:
    """Return the seconds of a latency in milliseconds; null if there is none.

    Raises:
        RecordError: It is not a number of milliseconds.
    """
    if milliseconds is None:
        return None
    is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    if not is_number or not 0 <= milliseconds < LONGEST_WAIT:
        raise RecordError([f"{name}: expected milliseconds, found {found(milliseconds)}"])
    return float(milliseconds) / 1000


def outermost(
    spans: Sequence[T],
    place: Callable[[T], tuple[str | None, str | None]],
    is_wanted: Callable[[T], bool],
) -> list[T]:
    """Return the wanted spans of a trace, but for those with a wanted ancestor.

    Args:
        spans: The spans.
        place: Returns the id of a span and that of its parent.
        is_wanted: Returns whether a span is wanted.
    """
    above = {name: (parent, is_wanted(each)) for each in spans for name, parent in [place(each)]}
    above.pop(None, None)
    within: dict[str | None, bool] = {}
    outer = []
    for each in filter(is_wanted, spans):
        own, at = place(each)
        passed: dict[str | None, None] = {}
        # Parents may form a circle.
        while at in above and not above[at][1] and at not in within and at not in passed:
            passed[at] = None
            at = above[at][0]
        is_within = at != own and (within.get(at, False) or above.get(at, (None, False))[1])
        within |= dict.fromkeys(passed, is_within)
        if not is_within:
            outer.append(each)
    return outer


def numbered(name: str, taken: Mapping[str, object]) -> str:
    """Return a name that is not taken: `name`, `name #2`, ..."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} #{number}"
    return found


def first_character(path: Path) -> str:
    """Return the first character of a file that is not whitespace; empty if there is none.

    Raises:
        InputError: The file cannot be read.
    """
    with opened(path) as file:
        start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    return start[:1].decode(errors="replace")


def is_indented(path: Path) -> bool:
    """Return whether a file begins with a JSON object over several lines.

    Raises:
        InputError: The file cannot be read.
    """
    with opened(path) as file:
        start = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    first, line_break, _ = start.partition(b"\n")
    return first.strip() == b"{" and bool(line_break)


def require_kind(
    rows: Iterable[Row | Reject], path: Path, expected: str, *groups: Collection[str]
) -> Iterator[Row | Reject]:
    """Yield rows if the first one has a field of each group.

    Raises:
        InputError: It has none of a group, so that the file is of another kind.
    """
    is_first = True
    for row in rows:
        if is_first and isinstance(row, Row):
            is_first = False
            if not all(any(name in row.fields for name in group) for group in groups):
                raise wrong_kind(path, row.line, expected, row.fields)
        yield row


def require_object(path: Path, expected: str) -> None:
    """Check that a JSON file does not begin like a list or a text.

    Raises:
        InputError: It does, so that the file is of another kind; or it cannot be read.
    """
    first = first_character(path)
    if first not in {"{", ""}:
        given = "a list" if first == "[" else f"{first!r} at the beginning"
        raise InputError([Problem(path, None, f"expected {expected}; found {given}")])


def wrong_kind(
    path: Path, line: int | None, expected: str, fields: Mapping[str, Any]
) -> InputError:
    """Return the error about a file of another kind, with the fields that it has."""
    names = [repr(name[:SHOWN]) for name in list(fields)[:_LISTED]]
    more = f" and {len(fields) - _LISTED:,} more" if len(fields) > _LISTED else ""
    found = f"the fields {', '.join(names)}{more}" if names else "no fields"
    return InputError([Problem(path, line, f"expected {expected}; found {found}")])


def text_length(fields: Mapping[str, Any]) -> int:
    """Return the number of characters of the texts, lists and objects of a row."""
    return sum(
        len(each) if isinstance(each, str) else len(json.dumps(each))
        for each in fields.values()
        if isinstance(each, str | list | dict)
    )


def element_row(file: NestedJson, element: Element, place: str) -> Row | Reject:
    """Return an element of a nested JSON file as a row."""
    line, shown = file.line(element.begin), file.shown(element)
    if not isinstance(element.value, dict):
        return Reject(line, f"{place}: expected an object", shown)
    return Row(element.value, line, shown)
