"""`scoreline export`: write published results for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import one_benchmark_option, require_benchmark, settings_option

if TYPE_CHECKING:
    from orchestration.config.load import Settings


@click.command(
    "export",
    epilog="""\b
Examples:
  scoreline export --benchmark train --as evaluation-json --out results
  scoreline export --benchmark support --as parquet --out tables
  scoreline export --benchmark support --as archive --out archives
  scoreline export --benchmark support --as charts --out charts""",
)
@one_benchmark_option
@click.option(
    "--as",
    "export_format",
    required=True,
    type=click.Choice(["evaluation-json", "parquet", "archive", "charts"]),
    help="The export format.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder for the files; created if necessary.",
)
@settings_option
def command(benchmark: str | None, export_format: str, out: Path, settings: Settings) -> None:
    """Write the published results of a benchmark into a folder.

    `evaluation-json` is `<split>_evaluation.json` with the results of document-grounded question
    answering by question and system. `parquet` is one file per table. `archive` is
    `<benchmark>.zip` with the results and leaderboards of every evaluator as JSON, CSV, Markdown
    and HTML, the configuration, and versions. `charts` is every chart of the report as SVG and PNG.

    The paths of the files go to standard output, one per line.
    """
    project = settings.project
    name = require_benchmark(project, benchmark)

    from orchestration import published
    from orchestration.errors import NothingToExport

    copy = published.open_copy(project)
    out.mkdir(parents=True, exist_ok=True)
    if export_format == "parquet":
        from warehouse.publish.parquet import write_parquet

        written = write_parquet(copy, out, name)
    else:
        with copy.open() as held:
            if export_format == "archive":
                from assets.publishing.exports.archive import write_archive

                written = [write_archive(held, name, out, settings.file)]
            elif export_format == "charts":
                from assets.publishing.exports.charts import write_charts

                written, notes = write_charts(held, name, out)
                for note in notes:
                    click.echo(f"warning: {note}", err=True)
            else:
                from assets.publishing.exports.document_qa import gather_results

                evaluation = gather_results(held, project.benchmarks[name])
                if not any(evaluation.results.values()):
                    raise NothingToExport(
                        f"benchmark {name!r} has no retrieval, citation or rubric results: it "
                        "needs document_retrieval, citation or rubric_judge among its evaluators"
                    )
                written = [evaluation.write(out)]
    for path in written:
        click.echo(path)
