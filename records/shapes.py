"""Shapes: the types with which fields are stored, derived from their annotations."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel

if TYPE_CHECKING:
    from records.fields import Shape

LARGEST_INTEGER: Final = 2**31 - 1
"""The largest value of DuckDB's INTEGER."""

_SCALARS: Final = {str: "VARCHAR", bool: "BOOLEAN", float: "DOUBLE"}


def plain(annotation: Any) -> Any:
    """Return an annotation without constraints and without null."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, UnionType):
            options = [each for each in get_args(annotation) if each is not NoneType]
            if len(options) != 1:
                return Any
            (annotation,) = options
        else:
            return annotation


def constraints(annotation: Any) -> tuple[Any, ...]:
    """Return the constraints and validators of an annotation."""
    if get_origin(annotation) is Annotated:
        inner, *found = get_args(annotation)
        return (*constraints(inner), *found)
    if get_origin(annotation) in (Union, UnionType):
        options = [each for each in get_args(annotation) if each is not NoneType]
        return constraints(options[0]) if len(options) == 1 else ()
    return ()


def is_record(annotation: Any) -> bool:
    """Return whether an annotation is a record."""
    kind = plain(annotation)
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def list_item(annotation: Any) -> Any:
    """Return the annotation of the items of a list; null if it is not a list."""
    kind = plain(annotation)
    return get_args(kind)[0] if get_origin(kind) is list else None


def bounds(annotation: Any) -> tuple[float | None, float | None]:
    """Return the smallest and the largest value that an annotation allows, where it limits them."""
    least: Any = None
    most: Any = None
    for each in constraints(annotation):
        for limit in (each, *getattr(each, "metadata", ())):
            least = getattr(limit, "ge", least)
            most = getattr(limit, "le", most)
    return least, most


def shape_of(annotation: Any) -> Shape:
    """Return the shape of the values of an annotation; of values of any type, JSON."""
    kind = plain(annotation)
    if get_origin(kind) is Literal:
        return "VARCHAR"
    if get_origin(kind) is list:
        item = shape_of(get_args(kind)[0])
        return "JSON" if item == "JSON" else [item]
    if is_record(kind):
        hints = kind.annotations()
        return {name: shape_of(each) for name, each in hints.items()}
    if kind is int:
        _, most = bounds(annotation)
        return "INTEGER" if most is not None and most <= LARGEST_INTEGER else "BIGINT"
    return _SCALARS.get(kind, "JSON")


def duckdb_type(shape: Shape) -> str:
    """Return the DuckDB type of a shape, in DuckDB's spelling."""
    match shape:
        case str():
            return shape
        case list():
            return f"{duckdb_type(shape[0])}[]"
        case _:
            members = ", ".join(f"{name} {duckdb_type(each)}" for name, each in shape.items())
            return f"STRUCT({members})"
