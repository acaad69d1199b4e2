"""Exports the published copy to Parquet, one file for each table and view."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from warehouse.errors import WarehouseError
from warehouse.publish.publications import KEPT_TABLES
from warehouse.schema.quoting import literal, quoted
from warehouse.schema.tables import TABLES
from warehouse.storage.atomic import replace_file
from warehouse.storage.connection import connect_file
from warehouse.storage.migrate import require_version

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.publish.snapshot import Snapshot
    from warehouse.schema.tables import Table

BENCHMARK_FILTERS = {
    "judgments": "digest IN (SELECT digest FROM asks WHERE benchmark = {benchmark} "
    "UNION ALL SELECT digest FROM answers WHERE benchmark = {benchmark})",
    "signatures": "(evaluator, signature) IN "
    "(SELECT (evaluator, signature) FROM grades WHERE benchmark = {benchmark})",
    **dict.fromkeys(
        KEPT_TABLES,
        "digest IN (SELECT digest FROM publication_data WHERE benchmark = {benchmark})",
    ),
}
"""Filters for tables without a column `benchmark`; other such tables are written completely."""


def write_parquet(copy: Snapshot, folder: Path, benchmark: str) -> list[Path]:
    """Write a benchmark's rows in every published table and view to `<folder>/<table>.parquet`.

    DuckDB writes the files by row groups, so tables can be larger than memory. Each file replaces
    an existing one when it is complete.

    Returns:
        The paths of the files, in the order of the tables' documentation.

    Raises:
        WarehouseError: There is no published copy, or it cannot be read.
        NoSpace: The disk is full.
    """
    if not copy.path.exists():
        raise WarehouseError(f"there is no published copy {str(copy.path)!r}")
    written = []
    settings = replace(copy.settings, sealed=False)
    with connect_file(copy.path, read_only=True, settings=settings) as connection:
        require_version(connection, copy.path)
        for table in TABLES.values():
            target = folder / f"{table.name}.parquet"
            with replace_file(target) as beside:
                connection.execute(
                    f"COPY (SELECT * FROM {quoted(table.name)}{_where(table, benchmark)}) "  # noqa: S608
                    f"TO {literal(str(beside))} (FORMAT parquet, COMPRESSION zstd)"
                )
            written.append(target)
    return written


def _where(table: Table, benchmark: str) -> str:
    if "benchmark" in table.column_names:
        return f" WHERE benchmark = {literal(benchmark)}"
    condition = BENCHMARK_FILTERS.get(table.name)
    return "" if condition is None else " WHERE " + condition.format(benchmark=literal(benchmark))
