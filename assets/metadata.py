"""Metadata for Dagster's interface: row counts, columns and their lineage, notes, source files."""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.execution.context.metadata_logging import (
    AssetMetadataHandle,
    OutputMetadataAccumulator,
)

from assets.keys import PREDICTIONS, QUESTIONS
from warehouse.foreign_text import show_hidden
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dagster._core.definitions.metadata import RawMetadataValue

    from assets.project import Project
    from evaluators.evaluator import Evaluator
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


LINEAGE = "dagster/column_lineage"
CODE = "dagster/code_references"


def column_lineage(
    sources: Mapping[str, Iterable[tuple[dg.AssetKey, str]]],
) -> dict[str, RawMetadataValue]:
    """Return where columns come from as static metadata.

    Args:
        sources: The assets and columns from which a column is computed, by column.
    """
    lineage = {
        column: [dg.TableColumnDep(asset_key=key, column_name=name) for key, name in found]
        for column, found in sources.items()
    }
    return {LINEAGE: dg.TableColumnLineage(lineage)}


_STORED_AS = {"document_sentences": "doc_id", "opponents": "answer"}
"""Sentences belong to the document of the question, opponents are other systems' answers."""


def sample_sources(project: Project, columns: Iterable[str]) -> list[tuple[dg.AssetKey, str]]:
    """Return the columns of `questions` and `predictions` that sample columns are made of."""
    names = {_STORED_AS.get(column, column) for column in columns}
    return [
        (project.namespace.key(key), column.name)
        for key in (QUESTIONS, PREDICTIONS)
        for column in table_named(key.path[-1]).columns
        if column.name in names
    ]


def code_references(evaluator: Evaluator) -> dict[str, RawMetadataValue]:
    """Return the source file of an evaluator as static metadata; empty without a file."""
    kind = type(evaluator)
    function = getattr(kind, "function", None)
    code = getattr(function, "__code__", None)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if code is not None:
        file, line = code.co_filename, code.co_firstlineno
    else:
        line = None  # finding the line of a class takes longer than all other metadata
    if file is None or not Path(file).is_file():
        return {}
    reference = dg.LocalFileCodeReference(
        file_path=str(Path(file).absolute()), line_number=line, label=evaluator.name
    )
    return {CODE: dg.CodeReferencesMetadataValue(code_references=[reference])}


def counts(values: Mapping[str, int]) -> dict[str, RawMetadataValue]:
    """Return integers as metadata, which the interface plots over time."""
    return {name: dg.MetadataValue.int(value) for name, value in values.items()}


def notes(lines: Sequence[str]) -> dict[str, RawMetadataValue]:
    """Return lines as the metadata entry `notes`; empty without lines."""
    return {"notes": dg.MetadataValue.json([*map(show_hidden, lines)])} if lines else {}


def markdown_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return rows as a Markdown table; columns of numbers are right-aligned.

    Cells may hold untrusted text: markup is escaped and line breaks become spaces.
    """
    if not rows:
        return ""
    names = list(rows[0])
    rules = ["---:" if all(_is_number(row[name]) for row in rows) else "---" for name in names]
    lines = [names, rules, *([markdown_text(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_text(text: str) -> str:
    """Return untrusted text for Markdown: without markup, line breaks and ends of cells."""
    return " ".join(escape(show_hidden(text), quote=False).split()).replace("|", "\\|")


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
    metadata = _with_lineage(context, metadata)
    step = context.get_step_execution_context()
    # Dagster has no public API that adds many entries in one call.
    entries: dict[Any, Any] = dict(step._metadata_accumulator.per_output_metadata)  # noqa: SLF001
    for (key, partition), values in metadata.items():
        entries[AssetMetadataHandle(asset_key=key, partition_key=partition)] = values
    step._metadata_accumulator = OutputMetadataAccumulator(per_output_metadata=entries)  # noqa: SLF001


def _with_lineage(
    context: dg.AssetExecutionContext,
    metadata: Mapping[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]],
) -> Mapping[tuple[dg.AssetKey, str], Mapping[str, RawMetadataValue]]:
    """Add the static lineage to the last partition of each asset.

    The interface reads it from the latest materialisation; more copies would fill the event log.
    """
    static = context.assets_def.metadata_by_key
    last = {key: (key, partition) for key, partition in metadata}
    lineages = {
        place: static[key][LINEAGE] for key, place in last.items() if LINEAGE in static.get(key, {})
    }
    return {
        place: {**values, LINEAGE: lineages[place]} if place in lineages else values
        for place, values in metadata.items()
    }
