"""`scoreline run`: evaluate files and publish leaderboards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    benchmark_option,
    evaluator_option,
    no_judge_option,
    run_options,
    settings_option,
    system_option,
)

if TYPE_CHECKING:
    from orchestration.config.load import Settings

HELP_ORDER = 2


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
    help="Print retrieval, citation and rubric results in the layout of document-grounded QA, and "
    "write them to <split>_evaluation.json.",
)
@click.option("--force", is_flag=True, help="Compute all scores again.")
@settings_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    no_judge: bool,  # noqa: FBT001 - a flag
    summary: bool,  # noqa: FBT001
    force: bool,  # noqa: FBT001
    settings: Settings,
) -> None:
    """Ingest, check, score and publish, then show the leaderboards.

    Only changes are scored: new or changed questions, predictions and evaluators. The run is
    recorded in the project's Dagster instance, which `scoreline dev` shows. If nothing has changed,
    no run starts.

    Leaderboards go to standard output, messages to standard error. The exit code is 1 when a check
    or a gate failed (only a failed gate publishes its results) or the judge's budget was reached
    before all samples were judged, and 2 when the input or the configuration has errors; the
    warehouse is then unchanged.
    """
    from orchestration.cli.run_summary import total, write_summary
    from orchestration.errors import ChecksFailed
    from orchestration.published import require_passed_gates
    from orchestration.runs.start import run_project

    project = settings.project
    choices = run_options(project, benchmarks, systems, evaluators, judge=not no_judge, force=force)
    debug = bool(click.get_current_context().meta.get("scoreline.debug"))
    record = run_project(settings, choices, debug=debug)
    write_summary(project, choices, record, document_qa=summary)
    require_passed_gates(project, choices.benchmarks or tuple(project.benchmarks))
    if record is not None and total(record, "calls over budget"):
        raise ChecksFailed("the run is incomplete: its budget was reached; run again to go on")
