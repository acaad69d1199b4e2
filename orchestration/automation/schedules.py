"""The nightly run of all benchmarks. Off until enabled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from orchestration import instance
from orchestration.automation.partition_ranges import requests
from orchestration.jobs import EVALUATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project

NIGHTLY = "nightly"


def schedules(project: Project) -> Sequence[dg.ScheduleDefinition]:
    """All schedules of a project."""

    @dg.schedule(
        name=NIGHTLY,
        job_name=EVALUATE,
        cron_schedule=project.automation.cron,
        execution_timezone=project.automation.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Runs all benchmarks; what has not changed is not scored again, and a judge "
        "costs no more than what is left of the daily budget.",
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
        instance.register(context.instance, list(project.benchmarks))
        return requests(
            project, project.benchmarks, key=context.scheduled_execution_time.isoformat()
        )

    return [nightly]
