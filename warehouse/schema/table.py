"""Classes that describe tables: columns, keys and rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NULL_TEXTS = ("NULL", "null", "NaN", "nan", "None", "<NA>", "NaT")
"""Texts that databases and data frames write for a missing value."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: The column's name, in snake_case.
        type: The DuckDB type in DuckDB's spelling.
        description: The meaning, the unit, and the meaning of null.
        nullable: Whether it may be null.
        least: The minimum, if there is one.
        most: The maximum, if there is one.
        among: The allowed values; empty: any.
        default: The value in SQL of new rows without the column; null: they have none.
    """

    name: str
    type: str
    description: str
    nullable: bool = True
    least: float | None = None
    most: float | None = None
    among: tuple[str | int, ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition on every row of a table.

    Attributes:
        meaning: The rule in words.
        broken: The SQL condition of a row that breaks it.
        blocks: Whether a broken rule stops the run, or is only a warning.
        reads_other_tables: Whether the condition reads other tables, too.
    """

    meaning: str
    broken: str
    blocks: bool = True
    reads_other_tables: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table or view.

    Attributes:
        name: The table's name.
        one_row: A sentence that begins with "One row is".
        key: The columns whose values together identify a row; nulls count as equal.
        columns: All columns in their order.
        view_of: The query of a view; null for a table that stores rows.
        notes: Further documentation.
        rules: Conditions on every row, beyond those of the columns.
    """

    name: str
    one_row: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    view_of: str | None = None
    notes: str = ""
    rules: tuple[Rule, ...] = ()

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns in their order."""
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Tables of one section of the documentation, in the order in which they are created."""

    title: str
    summary: str
    tables: tuple[Table, ...]


def required(name: str, type_: str, description: str, **limits: Any) -> Column:
    """Describe a column that is never null; `limits` are `least`, `most` and `among`."""
    return Column(name, type_, description, nullable=False, **limits)


_SHARED = {
    column.name: column
    for column in (
        required("benchmark", "VARCHAR", "The benchmark's name."),
        required("system", "VARCHAR", "The system under evaluation."),
        required("question_id", "VARCHAR", "The question's id, unique in its benchmark."),
        required("evaluator", "VARCHAR", "The evaluator's name."),
        required("metric", "VARCHAR", "The metric's name, unique in its evaluator."),
        required(
            "slice",
            "VARCHAR",
            "`all`, or `tag=value` for the questions with this value of the tag.",
        ),
        required(
            "signature",
            "VARCHAR",
            "The configuration of the evaluator: name, parameters, prompt, model and version.",
        ),
        Column("run_id", "VARCHAR", "The run that wrote the row."),
    )
}


def shared(*names: str) -> tuple[Column, ...]:
    """Return the descriptions of columns that have the same meaning in many tables."""
    return tuple(_SHARED[name] for name in names)
