"""`scoreline export`: what was published, in forms that other programs read."""

from __future__ import annotations

from pathlib import Path

import click

from orchestration.cli.options import config_option, debug_option, known, load


@click.command(
    "export",
    epilog="""\b
Examples:
  scoreline export --benchmark train --as evaluation-json --out results
  scoreline export --benchmark support --as parquet --out tables
  scoreline export --benchmark support --as archive --out archives""",
)
@click.option("--benchmark", required=True, metavar="NAME", help="The benchmark.")
@click.option(
    "--as",
    "form",
    required=True,
    type=click.Choice(["evaluation-json", "parquet", "archive"]),
    help="The form.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="The folder for the files; made if it is not there.",
)
@config_option
@debug_option
def command(benchmark: str, form: str, out: Path, config: Path) -> None:
    """Write what was published about a benchmark into a folder.

    `evaluation-json` is `<split>_evaluation.json` with the results of document-grounded answers
    question by question and system by system. `parquet` is one file for each table. `archive` is
    `<benchmark>.zip` with the results and leaderboards of every evaluator as JSON, CSV, Markdown
    and HTML, the configuration, and versions.

    The paths of what was written go to standard output, one a line.
    """
    settings = load(config)
    project = settings.project
    (name,) = known("benchmark", (benchmark,), list(project.benchmarks))

    from orchestration import published
    from orchestration.errors import NothingToExport

    copy = published.copy(project)
    out.mkdir(parents=True, exist_ok=True)
    if form == "parquet":
        from warehouse.publish.parquet import write_parquet

        written = write_parquet(copy, out, name)
    else:
        with copy.held() as held:
            if form == "archive":
                from assets.publishing.exports.archive import write_archive

                written = [write_archive(held, name, out, settings.file)]
            else:
                from assets.publishing.exports.document_qa import evaluate

                evaluation = evaluate(held, project.benchmarks[name])
                if not any(evaluation.results.values()):
                    raise NothingToExport(
                        f"benchmark {name!r} has no retrieval, citation or rubric results: it "
                        "needs document_retrieval, citation or rubric_judge among its evaluators"
                    )
                written = [evaluation.write(out)]
    for path in written:
        click.echo(path)
