"""`scoreline labels`: what people say of the same answers."""

from __future__ import annotations

from pathlib import Path

import click

from orchestration.cli.options import config_option, debug_option, load


@click.group("labels")
def command() -> None:
    """Hold judges against people: import labels, and see how far they agree."""


@command.command(
    "import",
    epilog="""\b
Examples:
  scoreline labels import labels.jsonl
  scoreline sql "SELECT evaluator, kappa, raw_mean, corrected_mean FROM calibration"

\b
A line of the file:
  {"benchmark": "support", "system": "rag", "question_id": "q1", "evaluator": "faithfulness",
   "metric": "faithfulness", "value": 1, "annotator": "ann"}""",
)
@click.argument("file", type=click.Path(path_type=Path))
@config_option
@debug_option
def import_(file: Path, config: Path) -> None:
    """Keep the labels of a FILE, hold the evaluators against them, and publish.

    The file is JSON Lines, JSON, CSV or Parquet. A label that the same person gave before is
    replaced. Where anything is wrong with a row, nothing is kept, and the exit code is 2.
    """
    project = load(config).project

    import polars as pl

    from assets.analysis.asset import look
    from assets.analysis.calibration import calibrate
    from orchestration.cli.output import write_frame
    from warehouse.ingest.labels import import_labels
    from warehouse.publish import snapshot
    from warehouse.store import Warehouse

    scales = {
        name: {
            (evaluator.name, metric.name): metric.bounds
            for evaluator in benchmark.evaluators
            for metric in evaluator.sample_metrics
        }
        for name, benchmark in project.benchmarks.items()
    }
    warehouse = Warehouse(project.warehouse)
    people = project.answering.people
    labels = import_labels(warehouse, file, scales, judging=people)
    names = labels["benchmark"].unique().sort().to_list()
    for name in names:
        calibrate(warehouse, project.benchmarks[name])
        look(warehouse, project.benchmarks[name])
    snapshot.publish(warehouse, project.publish)
    told = warehouse.fetch(
        "SELECT benchmark, evaluator, metric, system, method, n_labels, raw_mean, corrected_mean, "
        "ci_low, ci_high, agreement, kappa, is_calibrated FROM calibration ORDER BY ALL"
    ).filter(pl.col("benchmark").is_in(names))
    write_frame(told, "table", "People and evaluators")
    click.echo(f"{labels.height:,} labels kept; published in {project.publish}", err=True)
    if people:
        click.echo("people are the judge: `scoreline run` scores by these labels", err=True)
