"""What a materialisation tells Dagster's interface: rows, columns, and what there is to note."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.execution.context.metadata_logging import (
    AssetMetadataHandle,
    OutputMetadataAccumulator,
)

from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dagster._core.definitions.metadata import RawMetadataValue

    from warehouse.storage.location import Place


def table_metadata(table: str, place: Place) -> dict[str, RawMetadataValue]:
    """What is always true of an asset that fills a table: its name, columns and place.

    Args:
        table: The table.
        place: The warehouse.
    """
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
        "dagster/uri": place.absolute().as_uri(),
    }


def counts(values: Mapping[str, int]) -> dict[str, RawMetadataValue]:
    """Numbers that the interface can plot over time."""
    return {name: dg.MetadataValue.int(value) for name, value in values.items()}


def notes(lines: Sequence[str]) -> dict[str, RawMetadataValue]:
    """What is worth telling people, as a list; nothing where there is nothing to tell."""
    return {"notes": dg.MetadataValue.json(list(lines))} if lines else {}


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows with the same columns as a table; numbers stand to the right where all of them do.

    What stands in them may come from anybody: it is shown in one line, and none of it is markup.
    """
    if not rows:
        return ""
    names = list(rows[0])
    rules = ["---:" if all(_is_number(row[name]) for row in rows) else "---" for name in names]
    lines = [names, rules, *([_cell(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(escape(text, quote=False).split()).replace("|", "\\|")


def _is_number(text: str) -> bool:
    return text.lstrip("+-").replace(".", "", 1).isdigit() or text in ("", "inf", "-inf")


def tell_dagster(
    context: dg.AssetExecutionContext,
    told: Mapping[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]],
) -> None:
    """Add metadata to the materialisations of partitions; each of them is told of once.

    Dagster's own `add_asset_metadata` reads all partitions from its storage and copies all that
    was added before, for every call: time that grows with the square of the partitions.

    Args:
        context: The context of the asset.
        told: The metadata by asset and partition.
    """
    step = context.get_step_execution_context()
    # Its own way of keeping them; there is no other that takes many.
    kept: dict[Any, Any] = dict(step._metadata_accumulator.per_output_metadata)  # noqa: SLF001
    for (key, partition), metadata in told.items():
        kept[AssetMetadataHandle(asset_key=key, partition_key=partition)] = metadata
    step._metadata_accumulator = OutputMetadataAccumulator(per_output_metadata=kept)  # noqa: SLF001
