"""What a warehouse holds, without what says when, where and by which run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warehouse.schema.tables import TABLES

if TYPE_CHECKING:
    from warehouse.store import Warehouse

UNLIKE = ("run_id", "latency_s", "file")
"""Columns that differ between runs and folders, besides those of times."""


def contents(warehouse: Warehouse) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, in an order that depends on nothing else."""
    found = {}
    for name, table in TABLES.items():
        if name == "meta" or table.view_of is not None:
            continue
        columns = ", ".join(
            f'"{column.name}"'
            for column in table.columns
            if column.type != "TIMESTAMP" and column.name not in UNLIKE
        )
        found[name] = warehouse.fetch(f"SELECT {columns} FROM {name} ORDER BY ALL").rows()
    return found
