"""Rows of JSON as regular expressions: exactly those fields, in that order, of those types.

What matches is read alike by every parser of JSON. Whatever is rare has no form here: a file
that holds it is looked at in another way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from warehouse.usual import TEXT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from warehouse.usual import Field

SPACE: Final = r"[ \t]*"
_COMMA: Final = f"{SPACE},{SPACE}"
_NULL: Final = "null"
_TEXT: Final = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"'
_KEY: Final = r'"[^"\\\x00-\x1f]+"'
_COUNT: Final = r"(?:0|[1-9][0-9]{0,17})"
_WHOLE: Final = r"(?:0|-?[1-9][0-9]{0,17})"
# Few enough digits that every value is finite.
_NUMBER: Final = r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,20})?(?:[eE][-+]?[0-9]{1,2})?"
_SCALAR: Final = f"(?:{_TEXT}|{_NUMBER}|true|false|null)"
_PLAIN_KEY: Final = re.compile(r"[\w .:/-]+", re.ASCII)

RETRIEVED: Final[Mapping[str, str]] = {
    "doc_id": f"(?:{_TEXT}|{_COUNT}|null)",
    "chunk_id": f"(?:{_TEXT}|{_COUNT}|null)",
    "rank": f"(?:{_WHOLE}|null)",
    "score": f"(?:{_NUMBER}|null)",
    "text": f"(?:{_TEXT}|null)",
}
"""The members of a retrieved document."""


class Formless(Exception):  # noqa: N818 - not a failure
    """Rows have no form that a regular expression could describe."""


def row_form(rows: Sequence[Mapping[str, Any]], expected: Mapping[str, Field]) -> str:
    """The form of some rows: a regular expression for a row of JSON.

    Args:
        rows: Some rows of a file, the first perhaps.
        expected: The fields that are known, with their types.

    Returns:
        An expression that matches rows with no other fields than these, in the same order, and
        with values of the same types, or null. A field may be missing that some row lacks.

    Raises:
        Formless: There is none.
    """

    def form(name: str, values: Iterable[Any]) -> str:
        return _field(name, expected[name], values) if name in expected else _SCALAR

    return _object(rows, form)


def _object(rows: Sequence[Mapping[str, Any]], form: Callable[[str, Iterable[Any]], str]) -> str:
    longest = max(rows, key=len)
    order = list(longest)
    # The first must always be there, so that each of the others can stand behind a comma.
    if not order or any(order[0] not in row for row in rows):
        raise Formless
    members: list[str] = []
    for name in order:
        if not _PLAIN_KEY.fullmatch(name):
            raise Formless
        values = [row[name] for row in rows if name in row]
        member = f'"{re.escape(name)}"{SPACE}:{SPACE}{form(name, values)}'
        if members:
            member = f"{_COMMA}{member}"
        members.append(member if len(values) == len(rows) else f"(?:{member})?")
    return rf"\{{{SPACE}{''.join(members)}{SPACE}\}}"


def _field(name: str, field: Field, values: Iterable[Any]) -> str:
    given = [value for value in values if value is not None]
    if name == "retrieved":
        forms = {_list(_retrieved(given))}
    else:
        forms = {_value(field, type(value)) for value in given}
    return f"(?:{'|'.join(sorted({*forms, _NULL}))})"


def _value(field: Field, kind: type) -> str:
    """The form of the values of a field that are of one kind."""
    if kind is list:
        parts = field.parts.get("[*]")
        if parts is None or "[*][*]" in field.parts:
            raise Formless
        return _list(_of(parts))
    if kind is dict:
        parts = field.parts.get(".*")
        if parts is None or len(field.parts) > 1:
            raise Formless
        member = f"{_KEY}{SPACE}:{SPACE}{_of(parts)}"
        return rf"\{{{SPACE}(?:{member}(?:{_COMMA}{member})*{SPACE})?\}}"
    if kind is str and field.types >= TEXT:
        return _TEXT
    if kind in (int, float) and field.types - TEXT:
        return _of(field.types - TEXT)
    raise Formless


def _of(types: Collection[str]) -> str:
    """The form of a value of any of some types."""
    found = set()
    for type_ in types:
        match type_:
            case "VARCHAR":
                found.add(_TEXT)
            case "DOUBLE":
                found.add(_NUMBER)
            case "BIGINT" | "UBIGINT":
                pass
            case "BOOLEAN":
                found |= {"true", "false"}
            case "NULL":
                found.add(_NULL)
            case _:
                raise Formless
    if "DOUBLE" not in types and "UBIGINT" in types:
        found.add(_WHOLE if "BIGINT" in types else _COUNT)
    return f"(?:{'|'.join(sorted(found))})"


def _retrieved(lists: Iterable[Any]) -> str:
    documents = [document for each in lists if isinstance(each, list) for document in each]
    if not documents or not all(isinstance(document, dict) for document in documents):
        raise Formless
    return _object(documents, lambda name, _: RETRIEVED.get(name, _SCALAR))


def _list(element: str) -> str:
    return rf"\[{SPACE}(?:{element}(?:{_COMMA}{element})*{SPACE})?\]"
