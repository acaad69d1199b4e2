"""`scoreline export`: write published results for other programs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from orchestration.cli.options import one_benchmark_option, require_benchmark, settings_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from orchestration.config.load import Settings
    from warehouse.publish.snapshot import OpenSnapshot

FILES: Final = ("evaluation-json", "parquet", "archive", "charts", "predictions")
SERVICES: Final = ("opentelemetry", "mlflow")
DATABASE: Final = "database"
"""The export formats: those that write files into `--out`, and those that other programs read."""

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT")
"""The environment variables that name an endpoint of OTLP."""


@click.command(
    "export",
    epilog="""\b
Examples:
  scoreline export --benchmark train --as evaluation-json --out results
  scoreline export --benchmark support --as parquet --out tables
  scoreline export --benchmark support --as archive --out archives
  scoreline export --benchmark support --as charts --out charts
  scoreline export --benchmark support --as predictions --out answers
  scoreline export --benchmark support --as opentelemetry --endpoint http://127.0.0.1:4318
  scoreline export --benchmark support --as mlflow --out tracking
  scoreline export --as database --to postgresql://analyst@db.example.org/reports""",
)
@one_benchmark_option
@click.option(
    "--as",
    "export_format",
    required=True,
    type=click.Choice([*FILES, *SERVICES, DATABASE]),
    help="The export format.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder for the files; created if necessary.",
)
@click.option(
    "--endpoint",
    metavar="URL",
    help="With opentelemetry: the OTLP endpoint (HTTP); OTEL_EXPORTER_OTLP_ENDPOINT unless given.",
)
@click.option(
    "--to",
    "url",
    metavar="URL",
    help="With database: its SQLAlchemy URL, such as postgresql://USER@HOST/DATABASE.",
)
@click.option(
    "--schema",
    metavar="NAME",
    help="With database: the schema of the tables.  [default: scoreline, where there are schemas]",
)
@click.option(
    "--password-env",
    metavar="NAME",
    help="With database: the environment variable with the password.",
)
@settings_option
def command(
    benchmark: str | None,
    export_format: str,
    out: Path | None,
    endpoint: str | None,
    settings: Settings,
    **database: str | None,
) -> None:
    """Write the published results of a benchmark into a folder, or send them to other programs.

    `evaluation-json` is `<split>_evaluation.json` with the results of document-grounded question
    answering by question and system. `parquet` is one file per table. `archive` is
    `<benchmark>.zip` with the results and leaderboards of every evaluator as JSON, CSV, Markdown
    and HTML, the configuration, and versions. `charts` is every chart of the report as SVG and PNG.
    `predictions` is one canonical file of answers per system, also of answers not yet published.

    `opentelemetry` is one event per score, as a file of OTLP JSON lines, and sent to an endpoint.
    `mlflow` is one run per system with the leaderboard as metrics, and the report and a table of
    the questions as artifacts, in the store that MLFLOW_TRACKING_URI names, or in mlflow.db in the
    folder.

    `database` replaces the tables of a schema of a SQL database, in one transaction: of all
    benchmarks, unless one is named.

    The paths of the files, the ids of the runs or the names of the tables go to standard output,
    one per line.
    """
    _require_target(export_format, out, endpoint, database)
    project = settings.project
    if export_format == DATABASE:
        _export_to_database(settings, benchmark, **database)
        return
    name = require_benchmark(project, benchmark)

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    if out is None or export_format in SERVICES:
        from orchestration import published

        with published.open_copy(project).open() as held:
            _export_to_service(held, name, export_format, out, endpoint, project.publish)
        return
    for path in _write_files(settings, name, export_format, out):
        echo(path)


def _write_files(settings: Settings, benchmark: str, export_format: str, out: Path) -> list[Path]:
    """Write an export into a folder; return its files.

    Raises:
        NothingToExport: There is nothing of this kind.
    """
    from orchestration import published
    from orchestration.errors import NothingToExport

    project = settings.project
    if export_format == "predictions":
        from assets.publishing.exports.predictions import write_predictions

        asked = project.benchmarks[benchmark].systems
        return write_predictions(project.open_warehouse(), benchmark, asked, out)
    copy = published.open_copy(project)
    if export_format == "parquet":
        from warehouse.publish.parquet import write_parquet

        return write_parquet(copy, out, benchmark)
    with copy.open() as held:
        if export_format == "archive":
            from assets.publishing.exports.archive import write_archive

            return [write_archive(held, benchmark, out, settings.file)]
        if export_format == "charts":
            from assets.publishing.exports.charts import write_charts

            written, notes = write_charts(held, benchmark, out)
            for note in notes:
                echo(f"warning: {note}", err=True)
            return written
        from assets.publishing.exports.document_qa import distinct_split, gather_results

        split = distinct_split(project.benchmarks[benchmark], project.benchmarks.values())
        evaluation = gather_results(held, project.benchmarks[benchmark], split)
        if not any(evaluation.results.values()):
            raise NothingToExport(
                f"benchmark {benchmark!r} has no retrieval, citation or rubric results: it "
                "needs document_retrieval, citation or rubric_judge among its evaluators"
            )
        return [evaluation.write(out)]


def _export_to_database(
    settings: Settings,
    benchmark: str | None,
    url: str | None,
    schema: str | None,
    password_env: str | None,
) -> None:
    """Export the tables of all benchmarks, or of one, to a SQL database."""
    from orchestration import published
    from warehouse.publish.database import Target, write_database

    name = None if benchmark is None else require_benchmark(settings.project, benchmark)
    copy = published.open_copy(settings.project)
    written = write_database(copy, Target(str(url), schema, password_env), name)
    for table in written.tables:
        echo(table)
    rows = sum(written.tables.values())
    echo(f"{rows:,} rows in {len(written.tables)} tables of {written.address}", err=True)
    if written.replaced_nuls:
        count = f"{written.replaced_nuls:,} texts"
        echo(f"note: {count} had the character NUL, which became U+FFFD", err=True)


def _require_target(
    export_format: str, out: Path | None, endpoint: str | None, database: Mapping[str, str | None]
) -> None:
    """Check that the options say where the results go.

    Raises:
        UsageError: They do not.
    """
    if endpoint is not None and export_format != "opentelemetry":
        raise click.UsageError("only the format 'opentelemetry' has an '--endpoint'")
    if export_format == DATABASE:
        if database["url"] is None:
            raise click.UsageError("Missing option '--to'.")
        if out is not None:
            raise click.UsageError("the format 'database' has '--to' instead of '--out'")
    elif any(database.values()):
        names = "'--to', '--schema' and '--password-env'"
        raise click.UsageError(f"only the format 'database' has {names}")
    if out is None and export_format in FILES:
        raise click.UsageError("Missing option '--out'.")
    if export_format == "opentelemetry" and out is None and not _is_sent(endpoint):
        raise click.UsageError(f"expected '--out', '--endpoint' or the variable {ENDPOINTS[0]}")


def _is_sent(endpoint: str | None) -> bool:
    """Return whether events go to an endpoint."""
    return endpoint is not None or any(map(os.environ.get, ENDPOINTS))


def _export_to_service(
    snapshot: OpenSnapshot,
    benchmark: str,
    export_format: str,
    out: Path | None,
    endpoint: str | None,
    publish: Path,
) -> None:
    """Export results to a program that has an interface of its own.

    Raises:
        NothingToExport: The program is not reachable, or not named.
    """
    from assets.publishing.exports.errors import ExportFailed
    from orchestration.errors import NothingToExport

    try:
        if export_format == "mlflow":
            from assets.publishing.exports.mlflow import log_runs

            for run in log_runs(snapshot, benchmark, out, publish):
                echo(run)
            return
        from assets.publishing.exports.opentelemetry import send_events, write_events

        if out is not None:
            echo(write_events(snapshot, benchmark, out))
        if _is_sent(endpoint):
            sent = send_events(snapshot, benchmark, endpoint)
            echo(f"{sent:,} events sent", err=True)
    except ExportFailed as error:
        raise NothingToExport(str(error)) from error
