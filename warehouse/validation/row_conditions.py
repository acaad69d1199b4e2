"""Conditions that no row of a batch may satisfy, as columns of the batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.schema.ddl import quoted

if TYPE_CHECKING:
    from warehouse.validation.expectation import Batch, Expectation


def with_conditions(batch: Batch) -> str:
    """The query of a batch's rows with a column for each of its conditions.

    The tables that `found_beforehand` names must be there.
    """
    keys = ", ".join(f"broken.{quoted(name)}" for name in batch.key)
    made = []
    for each in batch.expectations:
        if each.once:
            satisfied = f"({keys}) IN (SELECT ({keys}) FROM {_table(each)} AS broken)"  # noqa: S608
        elif each.condition:
            satisfied = f"coalesce({each.condition}, false)"
        else:
            continue
        made.append(f", {satisfied} AS {each.kwargs['column']}")
    return f"SELECT *{''.join(made)} FROM ({batch.sql}) AS broken"  # noqa: S608


def found_beforehand(batch: Batch) -> dict[str, str]:
    """The queries of the keys that satisfy a condition to be worked out once, by table."""
    keys = ", ".join(map(quoted, batch.key))
    return {
        _table(each): f"SELECT {keys} FROM ({batch.sql}) AS broken WHERE {each.condition}"  # noqa: S608
        for each in batch.expectations
        if each.once
    }


def _table(expectation: Expectation) -> str:
    return f"keys_of_{expectation.kwargs['column']}"
