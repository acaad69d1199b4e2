"""`scoreline labels`: import human labels and calibrate evaluators with them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import settings_option

if TYPE_CHECKING:
    from orchestration.config.load import Settings

OPTIONAL_COLUMNS = ("kappa_low", "agreement", "labels_needed")
"""The columns that a narrow terminal does without, the first of them first."""

METHODS = {
    "prediction_powered": "the judge's mean, plus its mean error on the labelled samples "
    "(prediction-powered inference)",
    "rogan_gladen": "the pass rate, corrected by the judge's error rates on the labelled samples "
    "(Rogan and Gladen)",
}
"""What the methods of corrected means compute."""


@click.group("labels")
def command() -> None:
    """Compare evaluators with human labels."""


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
@settings_option
def import_(file: Path, settings: Settings) -> None:
    """Import the human labels in FILE.

    The command then calibrates the evaluators with the labels, and publishes, with the report. The
    file is JSON Lines, JSON, CSV or Parquet. A label replaces an earlier one by the same annotator.
    If a row has an error, no label is imported and the exit code is 2.
    """
    project = settings.project

    import polars as pl

    from calls.file_system import special_file
    from orchestration.errors import OrchestrationError

    kind = special_file(file)
    if kind is not None:
        raise OrchestrationError(f"{str(file)!r} is {kind}, expected a file with labels")

    from assets.analysis.calibration import publish_labels
    from assets.publishing.report.write import write_report
    from orchestration.cli.output import say, write_frame
    from warehouse.ingest.labels import import_labels

    scales = {
        name: {
            (evaluator.name, metric.name): metric.bounds
            for evaluator in benchmark.evaluators
            for metric in evaluator.sample_metrics
        }
        for name, benchmark in project.benchmarks.items()
    }
    warehouse = project.open_warehouse(math.inf)
    is_judge = project.engines.uses_human_labels
    labels = import_labels(warehouse, file, scales, judging=is_judge)
    names = labels["benchmark"].unique().sort().to_list()
    publish_labels(warehouse, project, names)
    write_report(project.open_copy(), project.publish)
    calibration = warehouse.fetch(
        "SELECT benchmark, evaluator, metric, system, method, n_labels, raw_mean, corrected_mean, "
        "ci_low, ci_high, reason, agreement, kappa, kappa_low, is_calibrated, labels_needed "
        "FROM calibration ORDER BY ALL"
    ).filter(pl.col("benchmark").is_in(names))
    write_frame(calibration, "table", "Human labels and evaluators", OPTIONAL_COLUMNS)
    for method in calibration["method"].unique().sort():
        say(f"{method}: corrected_mean is {METHODS[method]}", err=True)
    problems = warehouse.fetch(
        "SELECT benchmark, message FROM problems WHERE kind = 'uncalibrated_judge' ORDER BY ALL"
    ).filter(pl.col("benchmark").is_in(names))
    for benchmark, message in problems.rows():
        say(f"{benchmark}: {message}", err=True)
    say(f"{labels.height:,} labels imported; published in {project.publish}", err=True)
    if is_judge:
        say("human labels are the judge: `scoreline run` computes scores from them", err=True)
