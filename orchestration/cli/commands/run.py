"""`scoreline run`: evaluate files and publish leaderboards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orchestration.cli.options import (
    benchmark_option,
    config_option,
    evaluator_option,
    no_judge_option,
    run_options,
    system_option,
)
from orchestration.cli.output import echo
from orchestration.cli.program import debug_option

HELP_ORDER = 2

SEVERITIES = ("high", "medium", "low")
"""The severities of problems, the worst first."""


@click.command(
    "run",
    epilog="""\b
Examples:
  scoreline run
  scoreline run --benchmark support --system gpt-4o
  scoreline run --evaluator citations --force
  scoreline run --retry
  scoreline run --fail-on high --format json
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
@click.option(
    "--retry",
    is_flag=True,
    help="Make calls of judges and systems again that had no usable outcome.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Ask systems for all answers, compute all scores again, and retry failed calls. With "
    "--evaluator, no system is asked.",
)
@click.option(
    "--fail-on",
    type=click.Choice(SEVERITIES),
    help="Exit with code 1 when there is a problem of this severity or a worse one.",
)
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="`json`: one object with leaderboards, problems, gates and counts.",
)
@config_option
@debug_option
def command(
    *,
    summary: bool,
    fail_on: str | None,
    quiet: bool,
    output_format: str,
    config: Path,
    **part: Any,
) -> None:
    """Ingest, check, score and publish, then show the leaderboards.

    Only changes are scored: new or changed questions, predictions and evaluators. The run is
    recorded in the project's Dagster instance, which `scoreline dev` shows. If nothing has changed,
    no run starts.

    One screen is printed: leaderboards of at most five benchmarks, first those with failed gates,
    then those with new scores, and the three worst problems. `scoreline leaderboard` and `scoreline
    problems` show the others. Leaderboards go to standard output, messages to standard error; in a
    step of GitHub Actions also to the summary of the step. The exit code is 1 when a check or a
    gate failed (only a failed gate publishes its results), there are problems that `--fail-on`
    names, the judge gave no usable reply at all, or its budget was reached before all samples were
    judged, and 2 when the input or the configuration has errors, or judge or system cannot be
    called; nothing is published then.
    """
    from orchestration.cli.closed_pipes import outlive_reader
    from orchestration.cli.finished_run import Finished, describe_silent_judge, total
    from orchestration.cli.run_summary import write_summary
    from orchestration.errors import ChecksFailed
    from orchestration.published import open_copy, require_no_problems, require_passed_gates
    from orchestration.runs import unchanged

    outlive_reader()
    context = click.get_current_context()
    if summary and output_format == "json":
        raise click.UsageError("--summary cannot be combined with --format json")
    style = "quiet" if quiet and output_format == "table" else output_format
    is_limited = summary or any(part.values())
    key = None if is_limited else unchanged.digest_settings(config)
    published = unchanged.find_unchanged(config, key)
    if published is not None:
        copy, names = published.snapshot, published.benchmarks
        finished = Finished(copy, names, None, Path(published.report), published.notes)
        write_summary(finished, style)
    else:
        from assets.project import REPORT_FILE
        from orchestration.config.load import load_config
        from orchestration.doctor.config_lint import lint_config
        from orchestration.runs.start import run_project

        settings = load_config(config)
        project = settings.project
        choices = run_options(project, **part)
        debug = bool(context.meta.get("scoreline.debug"))
        run = run_project(settings, choices, debug=debug, quiet=quiet, lines=style == "table")
        silent = None if run is None else describe_silent_judge(run)
        if silent is not None:
            echo(silent, err=True)
        copy, names = open_copy(project), choices.benchmarks or tuple(project.benchmarks)
        notes = lint_config(project, names)
        finished = Finished(copy, names, run, project.publish / REPORT_FILE, notes)
        write_summary(finished, style, project if summary else None)
        unchanged.record_unchanged(config, key, settings, notes)
    require_passed_gates(copy, names)
    if fail_on is not None:
        require_no_problems(copy, names, SEVERITIES[: SEVERITIES.index(fail_on) + 1])
    record = finished.record
    if record is not None and describe_silent_judge(record) is not None:
        raise ChecksFailed("the run is incomplete: the judge gave no usable reply")
    if record is not None and any(
        total(record, f"{what} over budget") for what in ("calls", "questions")
    ):
        raise ChecksFailed("the run is incomplete: its budget was reached; run again to go on")
