"""Metadata of materialisations for Dagster's interface: row counts, columns and notes."""

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

    from warehouse.storage.location import Location


def table_metadata(table: str, location: Location) -> dict[str, RawMetadataValue]:
    """Return the static metadata of an asset that fills a table: name, columns and URI."""
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
        "dagster/uri": location.absolute().as_uri(),
    }


def counts(values: Mapping[str, int]) -> dict[str, RawMetadataValue]:
    """Return integers as metadata, which the interface plots over time."""
    return {name: dg.MetadataValue.int(value) for name, value in values.items()}


def notes(lines: Sequence[str]) -> dict[str, RawMetadataValue]:
    """Return lines as the metadata entry `notes`; empty without lines."""
    return {"notes": dg.MetadataValue.json(list(lines))} if lines else {}


def markdown_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return rows as a Markdown table; columns of numbers are right-aligned.

    Cells may hold untrusted text: markup is escaped and line breaks become spaces.
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


def add_partition_metadata(
    context: dg.AssetExecutionContext,
    metadata: Mapping[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]],
) -> None:
    """Add metadata to the materialisations of many partitions at once.

    Dagster's `add_asset_metadata` reads all partitions from storage and copies the metadata added
    so far on every call, so its total time grows with the square of the number of partitions.
    """
    step = context.get_step_execution_context()
    # Dagster has no public API that adds many entries in one call.
    entries: dict[Any, Any] = dict(step._metadata_accumulator.per_output_metadata)  # noqa: SLF001
    for (key, partition), values in metadata.items():
        entries[AssetMetadataHandle(asset_key=key, partition_key=partition)] = values
    step._metadata_accumulator = OutputMetadataAccumulator(per_output_metadata=entries)  # noqa: SLF001
