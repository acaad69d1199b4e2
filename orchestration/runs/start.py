"""Start a run of a project, after its input and configuration have been checked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project
    from orchestration.config.load import Settings
    from orchestration.runs import RunOptions
    from orchestration.runs.events import RunRecord
    from orchestration.runs.progress import Progress


def run_project(
    settings: Settings,
    options: RunOptions,
    *,
    debug: bool = False,
    quiet: bool = False,
    lines: bool = False,
) -> RunRecord | None:
    """Run a project, unless nothing has changed.

    Args:
        settings: The configuration.
        options: The part of the project; its benchmarks and evaluators exist.
        debug: Whether Dagster's log goes to standard error, instead of a progress bar.
        quiet: Whether no progress is shown.
        lines: Whether progress is shown as lines where standard error is not a terminal.

    Returns:
        The record of the run; None when nothing has changed since the last one.

    Raises:
        OrchestrationError: The configuration or the input is not valid, or a check failed.
        WarehouseError: As raised by the failing stage; other exceptions of stages likewise.
    """
    from orchestration.runs.progress import show_progress

    # From here on, because imports and checks take a second.
    with show_progress(quiet=debug or quiet, lines=lines) as progress:
        return _run(settings, options, progress, debug=debug)


def _run(
    settings: Settings, options: RunOptions, progress: Progress, *, debug: bool
) -> RunRecord | None:
    from orchestration.runs.preflight import (
        require_askable,
        require_folders,
        require_inputs,
        require_judge,
        require_libraries,
    )

    project = settings.project
    wanted = options.benchmarks or tuple(project.benchmarks)
    settings.require_systems_exist(wanted)
    require_folders(project)
    require_inputs(project, wanted)
    require_askable(project, wanted)
    require_libraries(project, wanted, options)

    from assets.checks import expectations
    from assets.fingerprints.input_files import benchmark_files
    from assets.fingerprints.up_to_date import is_current
    from orchestration.leftovers import remove_leftovers
    from orchestration.published import open_copy
    from warehouse.ingest.small_files import require_valid
    from warehouse.queries.samples import require_systems

    remove_leftovers(project)
    reopened = _reopen_calls(project, wanted, options)
    if not (options.force or reopened) and is_current(project, wanted):
        if options.systems:
            require_systems(open_copy(project), options.systems, wanted)
        return None
    require_judge(project, wanted, options)
    files = [benchmark_files(project.benchmarks[name]) for name in wanted]
    require_valid(project.open_warehouse(), files)

    progress.describe("starting Dagster")
    # Great Expectations takes as long to import as Dagster: import both in parallel.
    expectations.start_validator(project)

    from orchestration.definitions import CONFIG_VARIABLE
    from orchestration.runs.run import evaluate

    # Step processes read the configuration from this file.
    os.environ[CONFIG_VARIABLE] = str(settings.file)
    return evaluate(project, options, progress, verbose=debug)


def _reopen_calls(project: Project, benchmarks: Sequence[str], options: RunOptions) -> bool:
    """Return whether the run makes calls again that had no usable outcome."""
    if not (options.retry or options.force):
        return False
    from assets.judging.retry import ReopenedCalls, reopen_calls

    found = reopen_calls(
        project,
        benchmarks,
        options.systems,
        options.evaluators,
        judge=options.judge and not options.answers_only,
        # Who selects evaluators wants other verdicts, not other answers.
        ask=not options.evaluators,
    )
    return found != ReopenedCalls()
