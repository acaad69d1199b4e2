"""`scoreline warehouse`: copy the warehouse to another location."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import settings_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from orchestration.config.load import Settings


@click.group("warehouse")
def command() -> None:
    """Copy the warehouse from a DuckDB file to a lake, or back."""


@command.command(
    "copy",
    epilog="""\b
Examples:
  scoreline warehouse copy --to "ducklake:postgres:dbname=scoreline" --data-path /srv/scoreline
  scoreline warehouse copy --to backup.duckdb
  scoreline warehouse copy --from .scoreline/warehouse.duckdb""",
)
@click.option(
    "--to", "target", metavar="LOCATION", help="Copy the project's warehouse to this location."
)
@click.option(
    "--from", "source", metavar="LOCATION", help="Copy this location to the project's warehouse."
)
@click.option(
    "--data-path", metavar="FOLDER", help="The folder or object store of the lake's files."
)
@click.option(
    "--catalog-schema", metavar="NAME", help="The database schema of the lake's catalogue."
)
@click.option(
    "--password-env", metavar="NAME", help="The environment variable with the database password."
)
@settings_option
def copy(
    target: str | None,
    source: str | None,
    data_path: str | None,
    catalog_schema: str | None,
    password_env: str | None,
    settings: Settings,
) -> None:
    """Copy every table, including the ledger and the history, and print the number of rows.

    A LOCATION is the path of a DuckDB file, or `ducklake:postgres:` and a database, as in
    scoreline.yaml. The target must be empty; the source is not changed. The command does not edit
    the configuration: set `warehouse` to the new location yourself.
    """
    if (target is None) == (source is None):
        raise click.UsageError("give either --to or --from")
    project = settings.project

    from warehouse.maintenance.copy import copy_tables
    from warehouse.storage.location import location_from_config
    from warehouse.store import Warehouse

    other = location_from_config(
        Path.cwd(),
        target or source or "",
        data_path=data_path,
        schema=catalog_schema,
        password_env=password_env,
    )
    places = (other, project.warehouse) if target is None else (project.warehouse, other)
    counts = copy_tables(*(Warehouse(place, memory_limit=project.memory_limit) for place in places))
    for table, rows in counts.items():
        if rows:
            echo(f"{table}: {rows:,} rows")
    echo(f"copied {sum(counts.values()):,} rows from {places[0]} to {places[1]}", err=True)
