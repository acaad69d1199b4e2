"""`scoreline run`: evaluate files and publish leaderboards."""

from __future__ import annotations

from pathlib import Path

import click

from orchestration.cli.options import (
    benchmark_option,
    config_option,
    evaluator_option,
    no_judge_option,
    run_options,
    system_option,
)
from orchestration.cli.program import debug_option

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

    Only changes are scored: new or changed questions, predictions and evaluators. The run is
    recorded in the project's Dagster instance, which `scoreline dev` shows. If nothing has changed,
    no run starts.

    Leaderboards go to standard output, messages to standard error. The exit code is 1 when a check
    or a gate failed (only a failed gate publishes its results) or the judge's budget was reached
    before all samples were judged, and 2 when the input or the configuration has errors; the
    warehouse is then unchanged.
    """
    from orchestration.cli.run_summary import total, write_end, write_results, write_summary
    from orchestration.errors import ChecksFailed
    from orchestration.published import open_copy, require_passed_gates
    from orchestration.runs import unchanged

    is_limited = any((benchmarks, systems, evaluators, no_judge, summary, force))
    key = None if is_limited else unchanged.digest_settings(config)
    published = unchanged.find_unchanged(config, key)
    if published is not None:
        copy, names = published.snapshot, published.benchmarks
        write_results(copy, names, names, published.notes)
        write_end(Path(published.report), is_unchanged=True)
        require_passed_gates(copy, names)
        return

    from orchestration.config.load import load_config
    from orchestration.doctor.config_lint import lint_config
    from orchestration.runs.start import run_project

    settings = load_config(config)
    project = settings.project
    choices = run_options(project, benchmarks, systems, evaluators, judge=not no_judge, force=force)
    debug = bool(click.get_current_context().meta.get("scoreline.debug"))
    record = run_project(settings, choices, debug=debug)
    copy, names = open_copy(project), choices.benchmarks or tuple(project.benchmarks)
    copy_state = unchanged.identify(copy.path)
    notes = lint_config(project, names)
    write_summary(project, choices, record, notes, document_qa=summary)
    unchanged.record_unchanged(config, key, settings, copy_state, notes)
    require_passed_gates(copy, names)
    if record is not None and total(record, "calls over budget"):
        raise ChecksFailed("the run is incomplete: its budget was reached; run again to go on")
