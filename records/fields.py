"""Declarations of fields: name, type, meaning and role, from which everything else is derived.

A record declares a field as `name: type = role("The meaning.")`. The roles are functions, one for
each part that a field can play in an evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Role = Literal["identity", "given", "gold", "answer", "measured"]

Shape = str | list[Any] | dict[str, Any]
"""A stored type: the name of a DuckDB type, a list with the shape of its items, or a struct with
the shape of each member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """A declared field.

    Attributes:
        name: Its name in input files.
        role: Its role.
        meaning: Its meaning in input files.
        annotation: Its type, without null.
        is_required: Whether a record must have it.
        column: The column of the tables that it fills; null: none, or those of its members.
        stored: The type of its column; null: the one that follows from the annotation.
        stored_meaning: The meaning of its column, where that differs.
        title: Its name on pages for people.
    """

    name: str
    role: Role
    meaning: str
    annotation: Any
    is_required: bool
    column: str | None
    stored: Shape | None
    stored_meaning: str
    title: str

    @classmethod
    def of(cls, name: str, info: FieldInfo, annotation: Any) -> Declared:
        """Return the declaration of a field of a record."""
        extra = info.json_schema_extra
        if not isinstance(extra, dict) or info.description is None:
            raise TypeError(f"{name}: expected a declaration with a role and a meaning")
        column: Any = extra.get("column", name)
        stored: Any = extra.get("stored")
        role: Any = extra["role"]
        return cls(
            name=name,
            role=role,
            meaning=info.description,
            annotation=annotation,
            is_required=info.is_required(),
            column=column or None,
            stored=stored,
            stored_meaning=str(extra.get("stored_meaning", info.description)),
            title=info.title or name.replace("_", " ").capitalize(),
        )


def _declare(
    role: Role,
    meaning: str,
    default: Any = None,
    *,
    title: str | None = None,
    column: str | None = None,
    stored: Shape | None = None,
    stored_meaning: str | None = None,
) -> Any:
    more = {"column": column, "stored": stored, "stored_meaning": stored_meaning}
    extra: Any = {name: value for name, value in more.items() if value is not None}
    return Field(
        default, description=meaning, title=title, json_schema_extra={"role": role, **extra}
    )


def identity(meaning: str, default: Any = None, **more: Any) -> Any:
    """Declare a field that says which record it is.

    Args:
        meaning: What it means, in words.
        default: Its default; `...`: it is required.
        **more: `title`, `column` (empty: none), `stored` and `stored_meaning`; see `Declared`.
    """
    return _declare("identity", meaning, default, **more)


def given(meaning: str, default: Any = None, **more: Any) -> Any:
    """Declare a field that a system is given, and on which its answer may depend."""
    return _declare("given", meaning, default, **more)


def gold(meaning: str, default: Any = None, **more: Any) -> Any:
    """Declare a field that says what is right; another value is no reason to ask again."""
    return _declare("gold", meaning, default, **more)


def answer(meaning: str, default: Any = None, **more: Any) -> Any:
    """Declare a field that a system answers; it is empty where the system fails."""
    return _declare("answer", meaning, default, **more)


def measured(meaning: str, default: Any = None, **more: Any) -> Any:
    """Declare a field with what was measured or recorded of an answer."""
    return _declare("measured", meaning, default, **more)
