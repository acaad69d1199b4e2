"""One run of the pipeline, recorded in the project's Dagster instance and led by this process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.errors import DagsterAssetCheckFailedError

from orchestration import definitions, instance
from orchestration.automation.partition_ranges import range_tags, stretches
from orchestration.errors import ChecksFailed
from orchestration.executors import orphans
from orchestration.executors.executors import MULTIPROCESS, start_quietly
from orchestration.jobs import EVALUATE
from orchestration.runs.events import LOGGER, Progress, Record, hear, listener
from orchestration.runs.subprocess_run import CheckStepFailed, quiet, steps_apart

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assets.project import Project
    from orchestration.runs.filters import Choices


def evaluate(project: Project, choices: Choices, progress: Progress, *, aloud: bool) -> Record:
    """Runs the job `evaluate` for the chosen benchmarks.

    Benchmarks that follow each other in the configuration are done in one run; Dagster can name
    only ranges of partitions, so that a choice with gaps takes a run for each stretch.

    Args:
        project: What to evaluate.
        choices: What to narrow it to; benchmarks and evaluators are known to exist.
        progress: Is told of the steps.
        aloud: Whether Dagster's log goes to standard error.

    Returns:
        What the runs reported.

    Raises:
        ChecksFailed: A check that blocks the pipeline failed.
        UnknownSystem: A chosen system is in none of the chosen benchmarks.
        WarehouseError: As the failing asset raised it; other exceptions of assets likewise.
        StepFailed: A step failed that had a process of its own.
    """
    record = Record()
    if not aloud:
        logging.getLogger("dagster").setLevel(logging.CRITICAL)
    loggers = {LOGGER: listener(record, progress, aloud=aloud)}
    apart = not project.execution.together
    # Steps in other processes know nothing of a logger that listens here.
    built = definitions.build(project, None if apart else loggers)
    if project.execution.executor == MULTIPROCESS and not aloud:
        start_quietly()
    job = built.resolve_job_def(EVALUATE)
    keys = selected(job.asset_layer.executable_asset_keys, choices)
    narrowed = job.get_subset(asset_selection=frozenset(keys))
    steps = [node.name for node in narrowed.nodes]
    wanted = choices.benchmarks or tuple(project.benchmarks)
    ranges = list(stretches(list(project.benchmarks), wanted))
    progress.begin(len(steps) * len(ranges))
    with instance.opened(project) as opened:
        for first, last in ranges:
            # Only when all benchmarks have been read is it known which systems there are.
            look_in = wanted if (first, last) == ranges[-1] else ()
            config = run_config(narrowed, choices, look_in)
            tags = {**range_tags(first, last), **orphans.process_tags()}
            try:
                if apart:
                    config["loggers"] = quiet(aloud=aloud)
                    for event in steps_apart(opened, keys, config, tags):
                        hear(event, record, progress)
                    continue
                job.execute_in_process(
                    instance=opened,
                    asset_selection=keys,
                    run_config={**config, "loggers": {LOGGER: {}}},
                    tags=tags,
                )
            except (DagsterAssetCheckFailedError, CheckStepFailed) as error:
                raise ChecksFailed(failures(record) or str(error)) from error
    return record


def selected(keys: Iterable[dg.AssetKey], choices: Choices) -> list[dg.AssetKey]:
    """The assets that a run materialises: all but those of evaluators that were not chosen."""

    def wanted(key: dg.AssetKey) -> bool:
        stage, name = key.path[0], key.path[-1]
        if stage == "judgments" and not choices.judge:
            return False
        if stage in ("judgments", "scores") and len(key.path) > 1:
            return not choices.evaluators or name in choices.evaluators
        return True

    return sorted(filter(wanted, keys))


def run_config(
    job: dg.JobDefinition, choices: Choices, look_in: Sequence[str]
) -> dict[str, object]:
    """The run's configuration: the choices for every step that takes them.

    Args:
        job: The job with the assets of this run.
        choices: What the run is narrowed to.
        look_in: The benchmarks in one of which each chosen system must occur; none: unchecked.
    """
    from assets.run_config import RunChoices

    given = RunChoices(systems=list(choices.systems), look_in=list(look_in), force=choices.force)
    taking = [
        node.name
        for node in job.nodes
        if isinstance(node.definition, dg.OpDefinition)
        and _takes(node.definition.config_field, set(RunChoices.model_fields))
    ]
    values = given.model_dump()
    return {"ops": {name: {"config": values} for name in taking}}


def _takes(config: dg.Field | None, fields: set[str]) -> bool:
    return config is not None and fields <= set(getattr(config.config_type, "fields", {}))


def failures(record: Record) -> str:
    """The failed checks of a run that are more than warnings, one a line; empty without any."""
    return "\n".join(
        f"check {check.name!r} of {check.asset} failed"
        + (f": {check.description}" if check.description else "")
        for check in record.checks
        if check.serious and not check.passed
    )
