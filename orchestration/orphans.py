"""Runs whose process is gone: they are closed, so that nothing waits for them for ever."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from warehouse.processes import is_alive

if TYPE_CHECKING:
    import dagster as dg

PROCESS = "scoreline/process"


def process_tags() -> dict[str, str]:
    """The tag that says in which process a run is carried out."""
    return {PROCESS: f"{os.getpid()}@{socket.gethostname()}"}


def close_orphans(instance: dg.DagsterInstance) -> int:
    """Report runs of the command line as failed whose process on this machine is gone.

    A process that is killed cannot say so itself, and its run would be under way for ever: the
    queue and the sensors would wait for it.

    Returns:
        The runs that were closed.
    """
    import dagster as dg

    closed = 0
    statuses = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING]
    for run in instance.get_runs(dg.RunsFilter(statuses=statuses)):
        pid, _, host = run.tags.get(PROCESS, "").partition("@")
        if pid.isdigit() and host == socket.gethostname() and not is_alive(int(pid)):
            instance.report_run_failed(run, f"process {pid} was ended before the run was done")
            closed += 1
    return closed
