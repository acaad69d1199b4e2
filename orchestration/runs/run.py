"""Runs the pipeline and records the run in the project's Dagster instance."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.errors import DagsterAssetCheckFailedError

from assets.checks.gate_check import NAME as GATE
from orchestration import definitions, instance
from orchestration.errors import Cancelled, ChecksFailed
from orchestration.executors import MULTIPROCESS, start_forkserver
from orchestration.jobs import EVALUATE, contiguous_ranges, range_tags
from orchestration.runs.cancel import cancelled, is_interruption, mark_if_interrupted
from orchestration.runs.events import LOGGER, SCORES, RunRecord, event_logger, record_event
from orchestration.runs.subprocess_run import (
    CheckStepFailed,
    console_logger_config,
    run_in_subprocesses,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assets.project import Project
    from orchestration.runs import RunOptions
    from orchestration.runs.progress import Progress


def evaluate(
    project: Project, options: RunOptions, progress: Progress, *, verbose: bool
) -> RunRecord:
    """Run the job `evaluate` for the selected benchmarks.

    Benchmarks that follow each other in the configuration share one run. Dagster can select only
    ranges of partitions, so a selection with gaps takes one run per range.

    Args:
        project: What to evaluate.
        options: What to run; its benchmarks and evaluators exist.
        progress: Shows the progress of the steps.
        verbose: Whether Dagster's log goes to standard error.

    Returns:
        The events of the runs. Gates may have failed: what they are about is published.

    Raises:
        Cancelled: Ctrl-C or SIGTERM cancelled the run.
        ChecksFailed: A blocking check failed, and nothing is published.
        UnknownSystem: A selected system is in none of the selected benchmarks.
        WarehouseError: As raised by the failing asset; other exceptions of assets likewise.
        StepFailed: A step in a process of its own failed.
    """
    record = RunRecord()
    if not verbose:
        logging.getLogger("dagster").setLevel(logging.CRITICAL)
    if project.execution.executor == MULTIPROCESS and not verbose:
        start_forkserver()
    try:
        with instance.open_instance(project) as opened:
            try:
                _run(project, options, opened, record, progress, verbose=verbose)
            except BaseException as error:
                if is_interruption(error):
                    raise cancelled(opened) from error
                raise
    except BaseException as error:
        if is_interruption(error) and not isinstance(error, Cancelled):
            raise cancelled() from error
        raise
    return record


def _run(
    project: Project,
    options: RunOptions,
    opened: dg.DagsterInstance,
    record: RunRecord,
    progress: Progress,
    *,
    verbose: bool,
) -> None:
    """Run the job for each range of benchmarks; see `evaluate`."""

    def receive(event: dg.DagsterEvent, run_id: str) -> None:
        record_event(event, record, progress)
        mark_if_interrupted(opened, run_id, event)

    in_process = project.execution.is_in_process
    # A logger of this process receives no events from steps in other processes.
    loggers = {LOGGER: event_logger(receive, verbose=verbose)} if in_process else None
    job = definitions.build_definitions(project, loggers).resolve_job_def(EVALUATE)
    keys = select_assets(job.asset_layer.executable_asset_keys, options)
    selected_job = job.get_subset(asset_selection=frozenset(keys))
    benchmarks = options.benchmarks or tuple(project.benchmarks)
    ranges = list(contiguous_ranges(list(project.benchmarks), benchmarks))
    evaluators = sum(key.path[0] == SCORES for key in keys)
    progress.begin(len(selected_job.nodes) * len(ranges), evaluators)
    for first, last in ranges:
        # All systems are known only after the last range was read.
        require_systems_in = benchmarks if (first, last) == ranges[-1] else ()
        config = build_run_config(selected_job, options, require_systems_in)
        tags = {**range_tags(first, last), **instance.process_tags()}
        try:
            if in_process:
                job.execute_in_process(
                    instance=opened,
                    asset_selection=keys,
                    run_config={**config, "loggers": {LOGGER: {}}},
                    tags=tags,
                )
            else:
                config["loggers"] = console_logger_config(verbose=verbose)
                for event, run_id in run_in_subprocesses(opened, keys, config, tags):
                    receive(event, run_id)
        except (DagsterAssetCheckFailedError, CheckStepFailed) as error:
            if not _only_gates_failed(record):
                raise ChecksFailed(describe_failed_checks(record) or str(error)) from error


def select_assets(keys: Iterable[dg.AssetKey], options: RunOptions) -> list[dg.AssetKey]:
    """Return the assets that a run materializes: all but those of evaluators not selected."""

    def is_selected(key: dg.AssetKey) -> bool:
        stage, name = key.path[0], key.path[-1]
        if options.answers_only:
            return stage in ("questions", "answers")
        if stage == "answers" and options.force and options.evaluators:
            return False
        if stage == "judgments" and not options.judge:
            return False
        if stage in ("judgments", "scores") and len(key.path) > 1:
            return not options.evaluators or name in options.evaluators
        return True

    return sorted(filter(is_selected, keys))


def build_run_config(
    job: dg.JobDefinition, options: RunOptions, require_systems_in: Sequence[str]
) -> dict[str, object]:
    """Return the run config, with the options for every step that accepts them.

    Args:
        job: The job with the assets of this run.
        options: What to run.
        require_systems_in: Every selected system must occur in one of these benchmarks; empty for
            no such check.
    """
    from assets.keys import StageConfig

    stage_config = StageConfig(
        systems=list(options.systems),
        require_systems_in=list(require_systems_in),
        force=options.force,
        limit=options.limit,
    )
    steps = [
        node.name
        for node in job.nodes
        if isinstance(node.definition, dg.OpDefinition)
        and _accepts(node.definition.config_field, set(StageConfig.model_fields))
    ]
    return {"ops": {step: {"config": stage_config.model_dump()} for step in steps}}


def _accepts(config: dg.Field | None, fields: set[str]) -> bool:
    return config is not None and fields <= set(getattr(config.config_type, "fields", {}))


def _only_gates_failed(record: RunRecord) -> bool:
    failed = [check.name for check in record.checks if check.is_error and not check.passed]
    return bool(failed) and set(failed) == {GATE}


def describe_failed_checks(record: RunRecord) -> str:
    """Return the failed checks of severity error, one per line."""
    return "\n".join(
        f"check {check.name!r} of {check.asset} failed"
        + (f": {check.description}" if check.description else "")
        for check in record.checks
        if check.is_error and not check.passed
    )
