"""Columns that store the fields of a record: names, types, bounds and meanings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from records.shapes import (
    bounds,
    duckdb_type,
    is_record,
    list_item,
    plain,
    shape_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from records.fields import Declared, Role, Shape
    from records.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredColumn:
    """A column that stores one or more fields of a record.

    Attributes:
        name: Its name in the tables and samples.
        shape: Its type.
        meaning: Its meaning.
        title: Its name on pages for people.
        role: The role of its fields.
        fields: The input fields that can fill it; any of them is enough.
        least: The minimum, if there is one.
        most: The maximum, if there is one.
        among: The allowed texts; empty: any.
        default: The value of records without the field; null: none.
        has_json_list: Whether it holds lists as JSON text.
    """

    name: str
    shape: Shape
    meaning: str
    title: str
    role: Role
    fields: tuple[str, ...]
    least: float | None = None
    most: float | None = None
    among: tuple[str, ...] = ()
    default: Any = None
    has_json_list: bool = False

    @property
    def type(self) -> str:
        """The DuckDB type."""
        return duckdb_type(self.shape)

    @property
    def is_json(self) -> bool:
        """Whether it holds JSON text."""
        return self.shape == "JSON"

    @property
    def is_list(self) -> bool:
        """Whether it holds lists."""
        return isinstance(self.shape, list)

    @property
    def empty_value(self) -> str | list[Any] | None:
        """What it holds if there is nothing in it: an empty list or text; null: there is none."""
        if self.has_json_list:
            return "[]"
        if self.is_list:
            return []
        return "" if self.shape == "VARCHAR" else None


@cache
def stored_columns(record: type[Record]) -> Mapping[str, StoredColumn]:
    """Return the columns that store a record, by name, in the order of its fields.

    A field that is a list of records, whose fields have columns, is stored as lists side by side.
    """
    found: dict[str, StoredColumn] = {}
    for name, declared in _column_fields(record):
        column = declared.column
        if column in found:
            fields = tuple(dict.fromkeys((*found[column].fields, name)))
            found[column] = replace(found[column], fields=fields)
        elif column is not None:
            found[column] = _column(record, name, column, declared)
    return found


def column_of(record: type[Record], field: str) -> StoredColumn | None:
    """Return the column that stores a field alone; null if there is none."""
    column = stored_columns(record).get(record.declared()[field].column or "")
    return None if column is None or column.fields[0] != field else column


def _column_fields(record: type[Record]) -> Iterator[tuple[str, Declared]]:
    """Yield the fields with columns, each with the name of the input field that holds it."""
    for name, declared in record.declared().items():
        member = list_item(declared.annotation)
        if declared.column is not None or not is_record(member):
            yield name, declared
        else:
            yield from ((name, each) for each in member.declared().values())


def _column(record: type[Record], name: str, column: str, declared: Declared) -> StoredColumn:
    shape = declared.stored or shape_of(declared.annotation)
    is_member = name != declared.name
    least, most = bounds(declared.annotation)
    is_number = shape in ("INTEGER", "BIGINT", "DOUBLE") and not is_member
    kind = plain(declared.annotation)
    return StoredColumn(
        name=column,
        shape=[shape] if is_member else shape,
        meaning=declared.stored_meaning,
        title=declared.title,
        role=declared.role,
        fields=(name,),
        least=least if is_number else None,
        # Those of whole numbers are limits of input files.
        most=most if is_number and shape == "DOUBLE" else None,
        among=get_args(kind) if get_origin(kind) is Literal else (),
        default=None if is_member else record.model_fields[name].get_default(),
        has_json_list=shape == "JSON" and list_item(declared.annotation) is not None,
    )
