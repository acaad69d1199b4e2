"""`scoreline warehouse`: move what a project knows from one place to another."""

from __future__ import annotations

from pathlib import Path

import click

from orchestration.cli.options import config_option, debug_option, load


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
@click.option("--to", "target", metavar="PLACE", help="Copy the project's warehouse there.")
@click.option("--from", "source", metavar="PLACE", help="Copy from there to the project's.")
@click.option("--data-path", metavar="FOLDER", help="The files of the lake that is named.")
@click.option("--catalog-schema", metavar="NAME", help="The schema of its catalogue.")
@click.option("--password-env", metavar="NAME", help="The variable that holds its password.")
@config_option
@debug_option
def copy(
    target: str | None,
    source: str | None,
    data_path: str | None,
    catalog_schema: str | None,
    password_env: str | None,
    config: Path,
) -> None:
    """Copy every table, the ledger and the history included, and count the rows.

    A PLACE is written as in `scoreline.yaml`: the path of a DuckDB file, or `ducklake:postgres:`
    and a database. What is copied to must be empty; what is copied from stays as it is. The
    configuration is not changed: name the new place there afterwards.
    """
    if (target is None) == (source is None):
        raise click.UsageError("expected one of --to and --from")
    project = load(config).project

    from warehouse.maintenance.copy import copy_tables
    from warehouse.storage.location import place_of
    from warehouse.store import Warehouse

    other = place_of(
        Path.cwd(),
        target or source or "",
        data_path=data_path,
        schema=catalog_schema,
        password_env=password_env,
    )
    places = (other, project.warehouse) if target is None else (project.warehouse, other)
    counts = copy_tables(*(Warehouse(place) for place in places))
    for table, rows in counts.items():
        if rows:
            click.echo(f"{table}: {rows:,} rows")
    click.echo(f"copied {sum(counts.values()):,} rows from {places[0]} to {places[1]}", err=True)
