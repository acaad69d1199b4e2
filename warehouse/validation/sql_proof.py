"""Proves in SQL that expectations hold, which needs no Great Expectations.

A proof takes one query per batch; importing Great Expectations takes seconds. It validates what has
no proof: batches in which something fails or cannot be expressed here, and those that users add.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb

from warehouse.schema.quoting import literal, quoted
from warehouse.validation.expectation import Verdict
from warehouse.validation.row_conditions import with_conditions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.store import Warehouse
    from warehouse.validation.expectation import Batch, Expectation


def prove_batches(warehouse: Warehouse, batches: Sequence[Batch]) -> list[list[Verdict] | None]:
    """Return the verdicts on each batch, as Great Expectations gives them; None without a proof."""
    if all(batch.is_added for batch in batches):
        return [None] * len(batches)
    with warehouse.reading() as connection:
        return [_prove(connection, batch) for batch in batches]


def _prove(connection: duckdb.DuckDBPyConnection, batch: Batch) -> list[Verdict] | None:
    counts = [_count_sql(each, batch) for each in batch.expectations]
    if batch.is_added or not counts or not all(counts):
        return None
    own = tuple(each for each in batch.expectations if not each.once)
    rows = with_conditions(replace(batch, expectations=own))
    query = f"SELECT {', '.join(map(str, counts))} FROM ({rows})"  # noqa: S608
    try:
        broken = connection.execute(query).fetchone()
    except duckdb.Error:
        return None
    if broken is None or any(broken):
        return None
    return [
        Verdict(
            table=batch.table,
            expectation=batch.prefix + each.name,
            severity=each.severity,
            success=True,
            unexpected=0,
        )
        for each in batch.expectations
    ]


def _count_sql(expectation: Expectation, batch: Batch) -> str | None:
    """Return the SQL that counts the rows that break an expectation; None if it has none.

    Great Expectations ignores nulls, and so does `NOT`.
    """
    arguments = dict(expectation.kwargs)
    if expectation.once:
        return f"(SELECT count(*) FROM ({batch.sql}) AS broken WHERE {expectation.condition})"  # noqa: S608
    column = quoted(arguments.pop("column", ""))
    if expectation.kind == "expect_column_values_to_be_in_set" and set(arguments) == {"value_set"}:
        holds = f"{column} IN ({', '.join(map(_literal, arguments['value_set']))})"
    elif expectation.kind == "expect_column_values_to_be_between" and set(arguments) <= {
        "min_value",
        "max_value",
    }:
        least, most = arguments.get("min_value"), arguments.get("max_value")
        ends = [
            *([] if least is None else [f"{column} >= {_literal(least)}"]),
            *([] if most is None else [f"{column} <= {_literal(most)}"]),
        ]
        holds = " AND ".join(ends)
    else:
        return None
    return f"count(*) FILTER (WHERE NOT ({holds}))"


def _literal(value: str | float) -> str:
    # A decimal literal would be compared as a decimal.
    return literal(value) + ("::DOUBLE" if isinstance(value, float) else "")
