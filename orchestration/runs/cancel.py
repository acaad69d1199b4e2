"""Cancelled runs: how Dagster records them, and what the user is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
from dagster._core.execution.plan.objects import ErrorSource
from dagster._core.execution.stats import StepEventStatus

from orchestration import interrupts
from orchestration.errors import Cancelled
from orchestration.instance import process_tags

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_interruption(error: BaseException) -> bool:
    """Return whether Ctrl-C or a signal is the reason for an exception.

    Any exception after a signal counts: DuckDB and process pools raise errors of their own.
    """
    interrupted = isinstance(error, KeyboardInterrupt | dg.DagsterExecutionInterruptedError)
    return interrupted or interrupts.received_signal() is not None


def mark_if_interrupted(instance: dg.DagsterInstance, run_id: str, event: dg.DagsterEvent) -> None:
    """Mark the run as being cancelled if an event follows an interruption.

    Dagster would record it as failed, and the daemon of `scoreline dev` starts runs again whose
    process ended.
    """
    interrupted = interrupts.received_signal() is not None or (
        event.event_type is dg.DagsterEventType.STEP_FAILURE
        and event.step_failure_data.error_source is ErrorSource.INTERRUPT
    )
    if not interrupted:
        return
    run = instance.get_run_by_id(run_id)
    if run is not None and run.status is dg.DagsterRunStatus.STARTED:
        instance.report_run_canceling(run)


def cancelled(instance: dg.DagsterInstance | None = None) -> Cancelled:
    """Return the exception for an interrupted run; without an instance, no step had started."""
    steps = ", ".join(repr(step.replace("__", "/")) for step in _interrupted_steps(instance))
    where = f"while {steps} ran" if steps else "between two steps"
    return Cancelled(
        f"the run ended {where}. Completed steps, answers and replies of the judge are kept: "
        "run the same command again to go on"
    )


def _interrupted_steps(instance: dg.DagsterInstance | None) -> Iterator[str]:
    """Yield the steps of this process's latest run that started and did not end.

    The instance knows of steps in other processes before their events reach this one.
    """
    if instance is None:
        return
    ended = {StepEventStatus.SUCCESS, StepEventStatus.SKIPPED}
    for run in instance.get_runs(dg.RunsFilter(tags=process_tags()), limit=1):
        for stats in instance.get_run_step_stats(run.run_id):
            if stats.start_time is not None and stats.status not in ended:
                yield stats.step_key
