"""Runs whose process is gone: they are closed, so that nothing waits for them for ever."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from warehouse.storage.scratch import is_alive

if TYPE_CHECKING:
    import dagster as dg

PROCESS = "scoreline/process"


def process_tags() -> dict[str, str]:
    """The tag that says in which process a run is carried out."""
    return {PROCESS: f"{os.getpid()}@{socket.gethostname()}"}


def name_process(instance: dg.DagsterInstance, run_id: str) -> None:
    """Say that a run is carried out in this process."""
    instance.add_run_tags(run_id, process_tags())


def close_orphans(instance: dg.DagsterInstance) -> int:
    """Report runs as failed, or canceled, whose process on this machine is gone.

    A process that is killed cannot say so itself, and its run would be under way for ever: the
    queue and the sensors would wait for it. Dagster's own server says so for runs that it started,
    unless it was ended together with them.

    Returns:
        The runs that were closed.
    """
    import dagster as dg

    closed = 0
    canceling = dg.DagsterRunStatus.CANCELING
    statuses = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, canceling]
    for run in instance.get_runs(dg.RunsFilter(statuses=statuses)):
        pid, _, host = _process(instance, run).partition("@")
        if pid.isdigit() and host == socket.gethostname() and not is_alive(int(pid)):
            message = f"process {pid} was ended before the run was done"
            if run.status is canceling:
                instance.report_run_canceled(run, message)
            else:
                instance.report_run_failed(run, message)
            closed += 1
    return closed


def _process(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Where a run is carried out; empty as long as it has not said so itself."""
    told = run.tags.get(PROCESS, "")
    parent = instance.get_run_by_id(run.parent_run_id) if run.parent_run_id else None
    # A run that repeats another has the tags of that one until it begins.
    inherited = parent is not None and parent.tags.get(PROCESS) == told
    return "" if inherited else told
