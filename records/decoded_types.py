"""Types for msgspec that follow from the annotations of records."""

from __future__ import annotations

from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from annotated_types import Ge, Gt, Le, Lt, MinLen
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from records.message import seconds_since_1970
from records.record import CONTROL, PRINTABLE_PATTERN, integer, list_of_text, text_of_integer
from records.shapes import constraints, is_record, list_item, plain

if TYPE_CHECKING:
    from records.record import Record

_WHOLE: Final = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""Whole numbers as few as text that every reader of them writes alike."""

OTHER: Final = str | _WHOLE | float | bool | None
"""The type of values of unknown members that are no lists and no objects."""

_KEPT: Final = frozenset({text_of_integer, integer, seconds_since_1970, list_of_text})
"""Validators that change no value of the types here, but whole numbers to text."""

_LIMITS: Final = MappingProxyType({Ge: "ge", Gt: "gt", Le: "le", Lt: "lt", MinLen: "min_length"})

PRINTABLE: Final = rf"\A[^{CONTROL[1:]}*\Z"
"""`PRINTABLE_PATTERN` for Python, where `$` also matches before a newline at the end."""


class Unsupported(Exception):  # noqa: N818 - not a failure
    """Only validation checks a type."""


def required(record: type[Record]) -> set[str]:
    """Return the fields that every record must have."""
    return {name for name, each in record.model_fields.items() if each.is_required()}


def decoded_type(annotation: Any, pattern: str | None) -> Any:
    """Return the type for msgspec of values that an annotation accepts and leaves as they are.

    Args:
        annotation: The annotation.
        pattern: What ids and names have to match: `PRINTABLE`, or nothing if none of them can have
            control characters.

    Raises:
        Unsupported: There is none.
    """
    if get_origin(annotation) in (Union, UnionType):
        return Union[tuple(decoded_type(each, pattern) for each in get_args(annotation))]  # noqa: UP007
    limits = _limits(annotation, pattern)
    kind = _unlimited(annotation, pattern)
    checked = Annotated[kind, msgspec.Meta(**limits)] if limits else kind
    is_number_too = text_of_integer in _functions(annotation)
    return Union[checked, _WHOLE] if is_number_too else checked  # noqa: UP007


def _unlimited(annotation: Any, pattern: str | None) -> Any:
    kind = plain(annotation)
    item = list_item(annotation)
    if item is not None:
        return list[decoded_type(item, pattern)]  # type: ignore[misc]
    if get_origin(kind) is dict:
        name, value = get_args(kind)
        # A name is a text, also where a whole number could be one.
        limits = _limits(name, pattern)
        key = Annotated[str, msgspec.Meta(**limits)] if limits else str
        return dict[key, decoded_type(value, pattern)]  # type: ignore[misc,valid-type]
    if is_record(kind):
        return _struct(kind, pattern)
    if get_origin(kind) is Literal or kind in {str, int, float, bool, NoneType}:
        return kind
    raise Unsupported


def _struct(record: type[Record], pattern: str | None) -> type[msgspec.Struct]:
    """Return the struct of a record whose types are all of its rules."""
    decorators = record.__pydantic_decorators__
    if decorators.model_validators or decorators.field_validators:
        raise Unsupported
    members: list[Any] = []
    for name, annotation in record.annotations().items():
        type_ = decoded_type(annotation, pattern)
        info = record.model_fields[name]
        if info.is_required():
            members.insert(0, (name, type_))
        elif info.get_default() is None:
            members.append((name, Union[type_, None], None))  # noqa: UP007
        else:
            raise Unsupported
    return msgspec.defstruct(record.__name__, members, forbid_unknown_fields=True, gc=False)


def _functions(annotation: Any) -> set[Any]:
    return {getattr(each, "func", None) for each in constraints(annotation)}


def _limits(annotation: Any, pattern: str | None) -> dict[str, Any]:
    """Return the limits of values as msgspec names them.

    Raises:
        Unsupported: There are others, or a validator changes values.
    """
    limits: dict[str, Any] = {}
    found = list(constraints(annotation))
    while found:
        each = found.pop()
        if isinstance(each, FieldInfo):
            found += each.metadata
        elif isinstance(each, BeforeValidator):
            if each.func not in _KEPT:
                raise Unsupported
        elif type(each) in _LIMITS:
            name = _LIMITS[type(each)]
            limits[name] = getattr(each, name)
        else:
            options = vars(each) if hasattr(each, "__dict__") else {}
            # All numbers in JSON are finite.
            if not options or not options.keys() <= {"pattern", "allow_inf_nan"}:
                raise Unsupported
            if options.get("pattern", PRINTABLE_PATTERN) != PRINTABLE_PATTERN:
                raise Unsupported
            if "pattern" in options and pattern is not None:
                limits["pattern"] = pattern
    return limits
