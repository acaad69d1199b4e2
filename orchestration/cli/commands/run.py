"""`scoreline run`: from files to published leaderboards."""

from __future__ import annotations

import gc
import os
from pathlib import Path  # noqa: TC003 - click gives it

import click

from orchestration.cli.filters import evaluator_option, narrowed, no_judge_option, system_option
from orchestration.cli.options import (
    benchmark_option,
    config_option,
    debug_option,
    debugging,
    load,
)

GARBAGE = 50_000
"""The new objects after which Python looks for garbage: by its own 700 it looks a thousand times
while Dagster loads, and finds none."""


@click.command(
    "run",
    epilog="""\b
Examples:
  scoreline run
  scoreline run --benchmark support --system gpt-4o
  scoreline run --evaluator citations --force
  scoreline run --config other/scoreline.yaml""",
)
@benchmark_option
@system_option
@evaluator_option
@no_judge_option
@click.option(
    "--summary",
    is_flag=True,
    help="Print retrieval, citation and rubric results as the evaluation of document-grounded "
    "answers does, and write them to <split>_evaluation.json.",
)
@click.option("--force", is_flag=True, help="Score again what is up to date.")
@config_option
@debug_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    no_judge: bool,  # noqa: FBT001 - a flag
    summary: bool,  # noqa: FBT001
    force: bool,  # noqa: FBT001
    config: Path,
) -> None:
    """Ingest, check, score and publish, then show the leaderboards.

    Only what has changed is scored: new or changed questions, predictions and evaluators. The run
    is kept in the project's Dagster instance, where `scoreline dev` shows it; where nothing at all
    has changed, no run is started.

    Leaderboards go to standard output; what was rejected or noted goes to standard error. The exit
    code is 1 when a check failed, and 2 when the input or the configuration cannot be used; then
    the warehouse is as before.
    """
    gc.set_threshold(GARBAGE)
    settings = load(config)
    project = settings.project

    from assets.checks import expectations
    from assets.fingerprints.up_to_date import is_current
    from orchestration.cli.run_summary import write_nothing_changed, write_summary
    from orchestration.published import copy
    from warehouse.queries.samples import require_systems

    choices = narrowed(project, benchmarks, systems, evaluators, judge=not no_judge, force=force)
    wanted = choices.benchmarks or tuple(project.benchmarks)
    if not force and is_current(project, wanted):
        if choices.systems:
            require_systems(copy(project), choices.systems, wanted)
        write_nothing_changed(project, choices, evaluations=summary)
        return

    # Great Expectations takes as long to load as Dagster: side by side, each on a core.
    expectations.begin(project, shared=project.execution.executor == "multiprocess")

    from orchestration.definitions import CONFIG_VARIABLE
    from orchestration.runs.progress import shown
    from orchestration.runs.run import evaluate

    # What processes of steps read, where the project has them.
    os.environ[CONFIG_VARIABLE] = str(settings.file)
    with shown(quiet=debugging()) as progress:
        record = evaluate(project, choices, progress, aloud=debugging())
    write_summary(project, choices, record, evaluations=summary)
