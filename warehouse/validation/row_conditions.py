"""SQL for conditions that no row of a batch may satisfy: each becomes a column of the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.quoting import quoted

if TYPE_CHECKING:
    from warehouse.validation.expectation import Batch, Expectation


def with_conditions(batch: Batch) -> str:
    """Return the query of a batch's rows with a column for each of its conditions.

    It reads the tables that `broken_keys_sql` names.
    """
    keys = ", ".join(f"broken.{quoted(name)}" for name in batch.key)
    columns = []
    for each in batch.expectations:
        if each.once:
            satisfied = f"({keys}) IN (SELECT ({keys}) FROM {_table(each)} AS broken)"  # noqa: S608
        elif each.condition:
            satisfied = f"coalesce({each.condition}, false)"
        else:
            continue
        columns.append(f", {satisfied} AS {each.kwargs['column']}")
    return f"SELECT *{''.join(columns)} FROM ({batch.sql}) AS broken"  # noqa: S608


def broken_keys_sql(batch: Batch) -> dict[str, str]:
    """Return, by table name, the queries of the keys that satisfy conditions marked `once`."""
    keys = ", ".join(map(quoted, batch.key))
    return {
        _table(each): f"SELECT {keys} FROM ({batch.sql}) AS broken WHERE {each.condition}"  # noqa: S608
        for each in batch.expectations
        if each.once
    }


def _table(expectation: Expectation) -> str:
    return f"keys_of_{expectation.kwargs['column']}"
