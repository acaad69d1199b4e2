"""What a materialisation tells Dagster's interface: rows, columns, and what there is to note."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from warehouse.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dagster._core.definitions.metadata import RawMetadataValue

    from warehouse.store import Warehouse


def table_metadata(table: str, path: str) -> dict[str, RawMetadataValue]:
    """What is always true of an asset that fills a table: its name, columns and place."""
    described = table_named(table)
    columns = [
        dg.TableColumn(
            column.name,
            column.type,
            column.description,
            constraints=dg.TableColumnConstraints(nullable=column.nullable),
        )
        for column in described.columns
    ]
    return {
        "dagster/column_schema": dg.TableSchema(columns),
        "dagster/table_name": table,
        "dagster/uri": path,
        "one row": described.one_row,
    }


def row_count(warehouse: Warehouse, table: str, benchmarks: Sequence[str]) -> int:
    """The rows that a table holds of some benchmarks."""
    count = warehouse.fetch(
        f"SELECT count(*) FROM {table} WHERE benchmark IN (SELECT unnest($benchmarks))",  # noqa: S608
        {"benchmarks": list(benchmarks)},
    )
    return int(count.item())


def counts(values: Mapping[str, int]) -> dict[str, RawMetadataValue]:
    """Numbers that the interface can plot over time."""
    return {name: dg.MetadataValue.int(value) for name, value in values.items()}


def notes(lines: Sequence[str]) -> dict[str, RawMetadataValue]:
    """What is worth telling people, as a list; nothing where there is nothing to tell."""
    return {"notes": dg.MetadataValue.json(list(lines))} if lines else {}
