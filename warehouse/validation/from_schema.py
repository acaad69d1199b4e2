"""Expectations that follow from the schema of a table: its columns and its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.quoting import literal, quoted
from warehouse.schema.tables import table_named
from warehouse.validation.expectation import Batch, Expectation, Severity, expect_no_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warehouse.schema.tables import Column, Table


def build_table_batch(
    table: str, benchmarks: Sequence[str], more: Sequence[Expectation] = ()
) -> Batch:
    """Return the batch of benchmarks' rows in a table, with the expectations of its schema."""
    schema = table_named(table)
    return Batch(
        table=table,
        sql=select_rows(table, benchmarks),
        key=schema.key,
        expectations=(*_expect_schema(schema), *more),
    )


def select_rows(table: str, benchmarks: Sequence[str]) -> str:
    """Return the query of the rows of benchmarks."""
    names = ", ".join(map(literal, benchmarks))
    return f"SELECT * FROM {quoted(table)} WHERE benchmark IN ({names})"  # noqa: S608


def _expect_schema(table: Table) -> Iterator[Expectation]:
    # The table itself enforces NOT NULL, and `integrity` checks that keys are unique.
    for column in table.columns:
        yield from _expect_column(column)
    for rule in table.rules:
        severity: Severity = "error" if rule.blocks else "warn"
        yield expect_no_rows(rule.broken, rule.meaning, severity, once=rule.reads_other_tables)


def _expect_column(column: Column) -> Iterator[Expectation]:
    if column.least is not None or column.most is not None:
        yield expect_between(column.name, column.least, column.most)
    if column.among:
        yield Expectation(
            kind="expect_column_values_to_be_in_set",
            kwargs={"column": column.name, "value_set": list(column.among)},
            meaning=f"{column.name} is one of {', '.join(map(str, column.among))}",
        )


def expect_between(column: str, least: float | None, most: float | None) -> Expectation:
    """Return the expectation that a column's numbers lie within bounds; None means no bound."""
    ends = [
        *([] if least is None else [f"not below {least:g}"]),
        *([] if most is None else [f"not above {most:g}"]),
    ]
    return Expectation(
        kind="expect_column_values_to_be_between",
        kwargs={"column": column, "min_value": least, "max_value": most},
        meaning=f"{column} is {' and '.join(ends)}",
    )
