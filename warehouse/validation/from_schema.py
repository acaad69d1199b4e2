"""Expectations that follow from the description of a table: its columns and its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.ddl import literal, quoted
from warehouse.schema.tables import table_named
from warehouse.validation.expectation import Batch, Expectation, Severity, broken_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warehouse.schema.tables import Column, Table


def described(table: str, benchmarks: Sequence[str], more: Sequence[Expectation] = ()) -> Batch:
    """The rows of some benchmarks in a table, and what its description says of them.

    Args:
        table: The table or view.
        benchmarks: The benchmarks.
        more: What else is expected.
    """
    description = table_named(table)
    return Batch(
        table=table,
        sql=rows_of(table, benchmarks),
        key=description.key,
        expectations=(*_expectations(description), *more),
    )


def rows_of(table: str, benchmarks: Sequence[str]) -> str:
    """The query of the rows of some benchmarks."""
    names = ", ".join(map(literal, benchmarks))
    return f"SELECT * FROM {quoted(table)} WHERE benchmark IN ({names})"  # noqa: S608


def _expectations(table: Table) -> Iterator[Expectation]:
    # That columns are not null, the table itself sees to; keys are counted before in SQL.
    for column in table.columns:
        yield from _of_column(column)
    for rule in table.rules:
        severity: Severity = "error" if rule.blocks else "warn"
        yield broken_by(rule.broken, rule.meaning, severity, once=rule.looks_elsewhere)


def _of_column(column: Column) -> Iterator[Expectation]:
    if column.least is not None or column.most is not None:
        yield within(column.name, column.least, column.most)
    if column.among:
        yield Expectation(
            kind="expect_column_values_to_be_in_set",
            kwargs={"column": column.name, "value_set": list(column.among)},
            meaning=f"{column.name} is one of {', '.join(map(str, column.among))}",
        )


def within(column: str, least: float | None, most: float | None) -> Expectation:
    """The expectation that a column's numbers lie between two ends, each of which may be open."""
    ends = [
        *([] if least is None else [f"not below {least:g}"]),
        *([] if most is None else [f"not above {most:g}"]),
    ]
    return Expectation(
        kind="expect_column_values_to_be_between",
        kwargs={"column": column, "min_value": least, "max_value": most},
        meaning=f"{column} is {' and '.join(ends)}",
    )
