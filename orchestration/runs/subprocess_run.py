"""Runs whose steps have processes of their own and report their events to this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster._core.definitions.reconstruct import ReconstructableJob, ReconstructableRepository
from dagster._core.execution.api import execute_run_iterator

from orchestration import definitions
from orchestration.errors import OrchestrationError
from orchestration.jobs import EVALUATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dagster_shared.error import SerializableErrorInfo

# The message of an exception of these packages is shown without the exception's name.
OWN_PACKAGES = (
    *("scoreline.", "orchestration.", "assets.", "evaluators.", "systems.", "calls.", "warehouse."),
    "records.",
)


class StepFailed(OrchestrationError):  # noqa: N818 - the name says what it is
    """A step in a process of its own failed."""


class CheckStepFailed(StepFailed):
    """A step failed because a blocking check failed."""


def run_in_subprocesses(
    instance: dg.DagsterInstance,
    keys: Sequence[dg.AssetKey],
    config: Mapping[str, object],
    tags: Mapping[str, str],
) -> Iterator[tuple[dg.DagsterEvent, str]]:
    """Run the job `evaluate` with its steps in other processes; yield events and the run's id.

    The other processes build their definitions from the file that `SCORELINE_CONFIG` names.

    Args:
        instance: The instance that records the run.
        keys: The assets to materialize.
        config: The run config.
        tags: The run's tags.

    Raises:
        CheckStepFailed: A blocking check failed.
        DagsterExecutionInterruptedError: The run was cancelled.
        StepFailed: A step failed otherwise, or its process ended before the step was done.
    """
    repository = ReconstructableRepository.for_module(definitions.__name__, "defs")
    job = ReconstructableJob(repository, EVALUATE).get_subset(asset_selection=frozenset(keys))
    run = instance.create_run_for_job(
        job_def=job.get_definition(),
        run_config=config,
        tags=tags,
        asset_selection=frozenset(keys),
        job_code_origin=job.get_python_origin(),
    )
    failed: StepFailed | None = None
    for event in execute_run_iterator(job, run, instance):
        yield event, run.run_id
        failed = failed or _failure(event)
        if event.event_type is dg.DagsterEventType.RUN_CANCELED:
            raise dg.DagsterExecutionInterruptedError
    if failed is not None:
        raise failed


def console_logger_config(*, verbose: bool) -> dict[str, Any]:
    """Return the logger config of such a run; every step process would write to the terminal."""
    return {"console": {"config": {"log_level": "DEBUG" if verbose else "CRITICAL"}}}


def _failure(event: dg.DagsterEvent) -> StepFailed | None:
    if event.event_type is dg.DagsterEventType.STEP_FAILURE:
        info, step = event.step_failure_data.error, str(event.step_key)
    elif event.event_type is dg.DagsterEventType.RUN_FAILURE:
        info, step = event.job_failure_data.error, "the run"
    else:
        return None
    if info is None:
        return StepFailed(f"{step} failed: {event.message}")
    error = _root_cause(info)
    if error.cls_name == "DagsterAssetCheckFailedError":
        return CheckStepFailed(error.message.strip())
    # The last line of a traceback: the exception's full name, a colon and its message.
    name, _, message = error.message.strip().partition(": ")
    is_own = name.startswith(OWN_PACKAGES)
    return StepFailed(message if is_own else f"{step} failed: {name}: {message}")


def _root_cause(error: SerializableErrorInfo) -> SerializableErrorInfo:
    while error.cause is not None:
        error = error.cause
    return error
