"""Runs whose steps have processes of their own; what these tell comes as events of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.definitions.reconstruct import ReconstructableJob, ReconstructableRepository
from dagster._core.execution.api import execute_run_iterator

from orchestration.errors import OrchestrationError
from orchestration.jobs import EVALUATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dagster_shared.error import SerializableErrorInfo

OURS = ("warehouse.", "evaluators.", "assets.", "orchestration.")
"""How the names of exceptions begin whose messages are meant for people as they are."""


class StepFailed(OrchestrationError):  # noqa: N818 - the name says what it is
    """A step of a run failed in a process of its own."""


class CheckStepFailed(StepFailed):
    """It failed because a check did that blocks what follows."""


def steps_apart(
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    config: Mapping[str, object],
    tags: Mapping[str, str],
) -> Iterator[dg.DagsterEvent]:
    """The events of a run of the job `evaluate`, whose steps are carried out elsewhere.

    Other processes make their definitions from the file that `SCORELINE_CONFIG` names.

    Args:
        instance: Where the run is recorded.
        keys: The assets that it materialises.
        config: Its configuration.
        tags: Its tags.

    Raises:
        CheckStepFailed: A check that blocks the pipeline failed.
        StepFailed: A step failed otherwise, or its process or worker ended before it was done.
    """
    repository = ReconstructableRepository.for_module("orchestration.definitions", "defs")
    whole = ReconstructableJob(repository, EVALUATE)
    job = whole.get_subset(asset_selection=frozenset(keys))
    run = instance.create_run_for_job(
        job_def=job.get_definition(),
        run_config=config,
        tags=tags,
        asset_selection=frozenset(keys),
        job_code_origin=job.get_python_origin(),
    )
    failed: StepFailed | None = None
    for event in execute_run_iterator(job, run, instance):
        yield event
        failed = failed or _failure(event)
    if failed is not None:
        raise failed


def quiet(*, aloud: bool) -> dict[str, Any]:
    """The configuration of the loggers of such a run: what they write would come from all sides."""
    return {"console": {"config": {"log_level": "DEBUG" if aloud else "CRITICAL"}}}


def _failure(event: dg.DagsterEvent) -> StepFailed | None:
    if event.event_type is dg.DagsterEventType.STEP_FAILURE:
        found = event.step_failure_data.error
        step = str(event.step_key)
    elif event.event_type is dg.DagsterEventType.RUN_FAILURE:
        found, step = event.job_failure_data.error, "the run"
    else:
        return None
    error = None if found is None else _first_cause(found)
    if error is None:
        return StepFailed(f"{step} failed: {event.message}")
    if error.cls_name == "DagsterAssetCheckFailedError":
        return CheckStepFailed(error.message.strip())
    # Formatted as tracebacks end: the exception's full name, a colon, and what it says.
    name, _, message = error.message.strip().partition(": ")
    return StepFailed(message if name.startswith(OURS) else f"{step} failed: {name}: {message}")


def _first_cause(error: SerializableErrorInfo) -> SerializableErrorInfo:
    while error.cause is not None:
        error = error.cause
    return error
