"""What is said once about every table: its columns, its key, and what one row of it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        name: The column's name, in snake_case.
        type: Its DuckDB type, spelled as DuckDB spells it.
        description: What it holds, its unit, and what a null means.
        nullable: Whether it may be null.
        least: The least number that it may hold, if there is one.
        most: The greatest number that it may hold, if there is one.
        among: The values that it may hold; empty: any.
    """

    name: str
    type: str
    description: str
    nullable: bool = True
    least: float | None = None
    most: float | None = None
    among: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that holds for every row of a table.

    Attributes:
        meaning: The rule in words.
        broken: The SQL condition of a row that breaks it.
        blocks: Whether a broken rule stops what follows, or is only worth a warning.
        looks_elsewhere: Whether the condition is about other tables, too.
    """

    meaning: str
    broken: str
    blocks: bool = True
    looks_elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One table or view.

    Attributes:
        name: The table's name.
        one_row: A sentence that begins with "One row is".
        key: The columns whose values together identify a row; nulls count as equal.
        columns: All columns in their order.
        view_of: The query of a view; null for a table that stores rows.
        notes: What a reader of the table should know besides.
        rules: What holds for every row, beyond its columns.
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
    """Tables that belong together on the documentation page.

    Attributes:
        title: The heading.
        summary: What the tables of the group are for.
        tables: The tables, in the order in which they are created.
    """

    title: str
    summary: str
    tables: tuple[Table, ...]


def required(
    name: str,
    type_: str,
    description: str,
    *,
    least: float | None = None,
    most: float | None = None,
    among: tuple[str | int, ...] = (),
) -> Column:
    """A column that is never null."""
    return Column(name, type_, description, nullable=False, least=least, most=most, among=among)


BENCHMARK = required("benchmark", "VARCHAR", "The benchmark's name.")
SYSTEM = required("system", "VARCHAR", "The system under evaluation.")
QUESTION_ID = required("question_id", "VARCHAR", "The question's id, unique in its benchmark.")
EVALUATOR = required("evaluator", "VARCHAR", "The evaluator's name.")
METRIC = required("metric", "VARCHAR", "The metric's name, unique in its evaluator.")
SLICE = required(
    "slice", "VARCHAR", "`all`, or `tag=value`: the questions that bear this value of the tag."
)
SIGNATURE = required(
    "signature",
    "VARCHAR",
    "The evaluator as it was configured: name, parameters, prompt, model and version in one text.",
)
RUN_ID = Column("run_id", "VARCHAR", "The run that wrote the row.")
